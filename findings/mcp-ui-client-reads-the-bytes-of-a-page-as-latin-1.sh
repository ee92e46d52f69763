#!/usr/bin/env bash
# Package: @mcp-ui/client 7.1.1 (npm), with react 19.2.0 and jsdom 27.2.0.
# Behaviour: `AppRenderer` shows the page of a view that comes as `blob` with each byte beyond ASCII as a character of its
#   own: "Größe" becomes "GrÃ¶Ã\u009fe". The same page as `text` is shown well.
# Why a good guess misses it: its README says "Base64-encoded HTML content" of `blob`, "for larger or encoded content",
#   and the protocol's HTML is UTF-8. `atob` gives a string, which is taken for the text; an English page looks well.
# Date: 2026-11-30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund @mcp-ui/client@7.1.1 react@19.2.0 react-dom@19.2.0 jsdom@27.2.0
cat > try.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { JSDOM } from 'jsdom';
const { window } = new JSDOM('<!doctype html>', { url: 'http://localhost/', pretendToBeVisual: true });
for (const name of ['document', 'HTMLElement', 'HTMLIFrameElement', 'MessageEvent', 'Node', 'navigator']) {
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true });
}
globalThis.window = window;
const { log } = console;
console.log = console.debug = () => {};
const { createElement } = await import('react');
const { createRoot } = await import('react-dom/client');
const { AppRenderer } = await import('@mcp-ui/client');

/** The HTML that the renderer hands to its sandbox for a page. */
const handed = (content) => new Promise((resolve, reject) => {
  const place = window.document.createElement('div');
  window.document.body.append(place);
  createRoot(place).render(createElement(AppRenderer, {
    toolName: 'look',
    toolResourceUri: 'ui://shop/view.html',
    sandbox: { url: new URL('http://localhost/sandbox.html') },
    hostCapabilities: {},
    onReadResource: async () => ({
      contents: [{ uri: 'ui://shop/view.html', mimeType: 'text/html;profile=mcp-app', ...content }],
    }),
    onError: reject,
  }));
  const looking = setInterval(() => {
    const sandbox = place.querySelector('iframe')?.contentWindow;
    if (!sandbox) return;
    clearInterval(looking);
    sandbox.addEventListener('message', ({ data }) => {
      if (data.method === 'ui/notifications/sandbox-resource-ready') resolve(data.params.html);
    });
    const data = { jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} };
    window.dispatchEvent(new window.MessageEvent('message', { data, source: sandbox }));
  }, 50);
  setTimeout(() => reject(new Error('nothing was shown')), 20_000).unref();
});

const html = '<p>Größe – 10 €</p>';
const text = await handed({ text: html });
const blob = await handed({ blob: Buffer.from(html).toString('base64') });
log('@mcp-ui/client', JSON.parse(readFileSync('node_modules/@mcp-ui/client/package.json')).version);
log('as text:', JSON.stringify(text));
log('as blob:', JSON.stringify(blob));
const isSeen = text === html && blob === Buffer.from(html).toString('latin1');
log(isSeen ? 'seen' : 'not seen');
process.exit(isSeen ? 0 : 1);
JS
node try.mjs
