#!/usr/bin/env bash
# Package: @mcp-ui/client 7.1.1 (npm), with react 19.2.0 and jsdom 27.2.0.
# Behaviour: `AppRenderer` reads the page of a tool itself, and leaves the origins out that the page's resource names in
#   `_meta.ui.csp`: neither the message to the sandbox nor the sandbox's URL has them. Only what the host sets by hand in
#   `sandbox.csp` arrives, one for all pages.
# Why a good guess misses it: the extension has hosts read `csp` from the content that they read the page from, the
#   component "manages the complete lifecycle" and fetches that content, and it hands its HTML on. A page that names the
#   origin of its data loads, and gets nothing from it.
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

const csp = { connectDomains: ['https://api.example'] };
const page = { uri: 'ui://shop/view.html', mimeType: 'text/html;profile=mcp-app', text: '<p>A page.</p>', _meta: { ui: { csp } } };

/** The policy that the renderer hands to its sandbox, by message and by URL. */
const handed = (sandbox) => new Promise((resolve, reject) => {
  const place = window.document.createElement('div');
  window.document.body.append(place);
  createRoot(place).render(createElement(AppRenderer, {
    toolName: 'look',
    toolResourceUri: page.uri,
    sandbox: { url: new URL('http://localhost/sandbox.html'), ...sandbox },
    hostCapabilities: {},
    onReadResource: async () => ({ contents: [page] }),
    onError: reject,
  }));
  const looking = setInterval(() => {
    const frame = place.querySelector('iframe');
    if (!frame?.contentWindow) return;
    clearInterval(looking);
    const url = frame.src;
    const inside = frame.contentWindow;
    inside.addEventListener('message', ({ data }) => {
      if (data.method === 'ui/notifications/sandbox-resource-ready') {
        resolve({ html: data.params.html, message: data.params.csp ?? null, url: new URL(url).searchParams.get('csp') });
      }
    });
    const data = { jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} };
    window.dispatchEvent(new window.MessageEvent('message', { data, source: inside }));
  }, 50);
  setTimeout(() => reject(new Error('nothing was shown')), 20_000).unref();
});

const named = await handed({});
const set = await handed({ csp });
log('@mcp-ui/client', JSON.parse(readFileSync('node_modules/@mcp-ui/client/package.json')).version);
log('named by the page:', JSON.stringify(named));
log('set by the host:  ', JSON.stringify(set));
const isSeen = named.html === page.text && named.message === null && named.url === null
  && JSON.stringify(set.message) === JSON.stringify(csp) && set.url === JSON.stringify(csp);
log(isSeen ? 'seen' : 'not seen');
process.exit(isSeen ? 0 : 1);
JS
node try.mjs
