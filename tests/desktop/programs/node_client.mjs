// Clients for Node, as people write them: argv is which one, and the base URL.
// Nothing here but VS Code's own code and two agents knows of a proxy: variables do.

import http from "node:http";
import https from "node:https";
import { readFile } from "node:fs/promises";
import tls from "node:tls";

const [, , way, base] = process.argv;
const url = `${base}/chat/completions`;
const headers = { "content-type": "application/json" };
const body = JSON.stringify({
  model: "acme/brook-8b",
  stream: true,
  messages: [{ role: "user", content: "Name a stream." }],
});

async function byFetch(fetch, more = {}) {
  const answer = await fetch(url, { method: "POST", headers, body, ...more });
  const decoder = new TextDecoder();
  for await (const read of answer.body) {
    process.stdout.write(decoder.decode(read, { stream: true }));
  }
}

function byHttps(more = {}) {
  return new Promise((resolve, reject) => {
    const asked = https.request(url, { method: "POST", headers, ...more }, (answer) => {
      answer.pipe(process.stdout, { end: false });
      answer.on("end", resolve);
      answer.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

// What the extension host does before it loads an extension. The settings are the page's,
// and a file stands for what VS Code reads from the system's store of certificates.
async function asVisualStudioCode() {
  const vscode = (await import("@vscode/proxy-agent")).default;
  const settings = JSON.parse(process.env.SETTINGS);
  const silent = () => {};
  const params = {
    resolveProxy: async () => undefined,
    getProxyURL: () => settings["http.proxy"],
    getProxySupport: () => settings["http.proxySupport"],
    getNoProxyConfig: () => settings["http.noProxy"] ?? [],
    isAdditionalFetchSupportEnabled: () => settings["http.fetchAdditionalSupport"],
    isWebSocketPatchEnabled: () => false,
    addCertificatesV1: () => settings["http.systemCertificates"],
    addCertificatesV2: () => false,
    loadSystemCertificatesFromNode: () => false,
    loadAdditionalCertificates: async () => [
      await readFile(process.env.SYSTEM_STORE, "utf8"),
    ],
    log: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
    getLogLevel: () => vscode.LogLevel.Off,
    proxyResolveTelemetry: silent,
    isUseHostProxyEnabled: () => true,
    env: {},
  };
  const { resolveProxyWithRequest, resolveProxyURL } =
    vscode.createProxyResolver(params);
  for (const each of [http, https]) {
    Object.assign(each, vscode.createHttpPatch(params, each, resolveProxyWithRequest));
  }
  Object.assign(tls, vscode.createTlsPatch(params, tls));
  return vscode.createFetchPatch(params, globalThis.fetch, resolveProxyURL);
}

const ways = {
  fetch: () => byFetch(fetch),
  https: () => byHttps(),
  undici: async () => {
    const { EnvHttpProxyAgent, fetch: its } = await import("undici");
    await byFetch(its, { dispatcher: new EnvHttpProxyAgent() });
  },
  agent: async () => {
    const { HttpsProxyAgent } = await import("https-proxy-agent");
    await byHttps({ agent: new HttpsProxyAgent(process.env.HTTPS_PROXY) });
  },
  "vscode-fetch": async () => byFetch(await asVisualStudioCode()),
  "vscode-https": async () => {
    await asVisualStudioCode();
    await byHttps();
  },
  "vscode-https-own-agent": async () => {
    await asVisualStudioCode();
    await byHttps({ agent: new https.Agent({ keepAlive: true }) });
  },
};

await ways[way]();
process.exit(0); // VS Code's code keeps a timer of ten minutes
