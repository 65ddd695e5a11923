"""What Python and Node run to shake hands with the probe, through the proxy."""

# Runs on the user's own Python, which may be an old one. What httpx and requests read:
# httpx/_config.py (create_ssl_context), requests/sessions.py (merge_environment_settings).
PYTHON = """
import json, os, socket, ssl, sys
host, port, target, bundle = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
bundle = bundle or None
get = os.environ.get
def store(path):
    if os.path.isdir(path):
        return ssl.create_default_context(capath=path)
    return ssl.create_default_context(cafile=path)
def httpx():
    named = get("SSL_CERT_FILE") or get("SSL_CERT_DIR") or bundle
    return store(named)
def requests():
    return store(get("REQUESTS_CA_BUNDLE") or get("CURL_CA_BUNDLE") or bundle)
def ask(make):
    try:
        context = make()
        plain = socket.create_connection((host, port), 5)
        try:
            head = "CONNECT {0}:443 HTTP/1.1\\r\\nHost: {0}:443\\r\\n\\r\\n".format(target)
            plain.sendall(head.encode())
            got = b""
            while not got.endswith(b"\\r\\n\\r\\n"):
                byte = plain.recv(1)
                if not byte:
                    return "the proxy closed the connection"
                got += byte
            context.wrap_socket(plain, server_hostname=target).close()
        finally:
            plain.close()
    except Exception as error:
        return str(error) or repr(error)
    return ""
results = {"ssl": ask(ssl.create_default_context)}
results["httpx"], results["requests"] = ask(httpx), ask(requests)
print(json.dumps(results))
"""
NODE = r"""
const [host, port, target] = process.argv.slice(1);
const has = (name) => process.allowedNodeEnvironmentFlags.has(name);
const end = (error) => {
  const result = { error, version: process.version, system: has("--use-system-ca") };
  process.stdout.write(JSON.stringify(result), () => process.exit(0));
};
const asked = require("http").request({
  host, port, method: "CONNECT", path: target + ":443", timeout: 5000,
});
asked.on("timeout", () => asked.destroy(new Error("no answer")));
asked.on("error", (error) => end(error.message));
asked.on("connect", (answer, socket) => {
  if (answer.statusCode !== 200) return end("CONNECT: " + answer.statusCode);
  const secure = require("tls").connect({ socket, servername: target });
  secure.on("error", (error) => end(error.code + ": " + error.message));
  // NODE_TLS_REJECT_UNAUTHORIZED=0 lets everything in, and is no trust.
  secure.on("secureConnect", () =>
    end(secure.authorized ? "" : String(secure.authorizationError)));
});
asked.end();
"""
