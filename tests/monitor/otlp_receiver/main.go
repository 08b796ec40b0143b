// Runs the OTLP receiver of OpenTelemetry's collector on a port of loopback, and prints each request that it accepts
// as a line of OTLP's JSON: otlp_receiver PORT. The receiver decodes and checks; this program only prints. It ends when
// its standard input does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func run(port string) error {
	factory := otlpreceiver.NewFactory()
	configuration := factory.CreateDefaultConfig()
	words := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": "127.0.0.1:" + port}}}
	if err := confmap.NewFromStringMap(words).Unmarshal(configuration); err != nil {
		return err
	}
	var lock sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	sink, err := consumer.NewMetrics(func(_ context.Context, metrics pmetric.Metrics) error {
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(metrics)
		if err != nil {
			return err
		}
		lock.Lock()
		defer lock.Unlock()
		fmt.Fprintf(out, "%s\n", text)
		return out.Flush()
	})
	if err != nil {
		return err
	}
	receiver, err := factory.CreateMetrics(context.Background(), receivertest.NewNopSettings(factory.Type()), configuration, sink)
	if err != nil {
		return err
	}
	if err := receiver.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return receiver.Shutdown(context.Background())
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "otlp_receiver: name the port to listen on")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "otlp_receiver:", err)
		os.Exit(1)
	}
}
