// Search without a server: browsers start no worker from a file: address, so that a hidden frame of the page takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = []; // until the script is there
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const load = (source) => new Promise((resolve, reject) => {
        const script = this.inside.document.createElement("script");
        Object.assign(script, { src: source, onload: resolve, onerror: reject });
        this.inside.document.body.append(script);
      });
      this.inside.postMessage = (data) => this.tell(this, data);
      this.inside.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      load(address).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.tell(this.inside, data));
      });
    }
    tell(target, data) {
      setTimeout(() => {
        const event = new MessageEvent("message", { data });
        target.dispatchEvent(event);
        if (target === this && this.onmessage) this.onmessage(event);
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.tell(this.inside, data);
    }
    terminate() { this.inside.frameElement.remove(); }
  };
}
