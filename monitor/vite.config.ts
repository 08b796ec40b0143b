import { defineConfig } from "vite";

// HR_ASSETS: where the test that rebuilds puts its result.
export default defineConfig({
  base: "./",
  build: {
    outDir: process.env.HR_ASSETS ?? "../python/headrace/monitor/assets",
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "monitor.js", assetFileNames: "monitor[extname]", inlineDynamicImports: true },
    },
  },
});
