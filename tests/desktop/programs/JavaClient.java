import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** A client for the JVM that names neither the proxy nor its CA: properties do. */
public class JavaClient {
    public static void main(String[] base) throws Exception {
        var body = """
            {"model":"acme/brook-8b","stream":true,
             "messages":[{"role":"user","content":"Name a stream."}]}""";
        var request = HttpRequest.newBuilder(URI.create(base[0] + "/chat/completions"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpClient.newHttpClient()
            .send(request, HttpResponse.BodyHandlers.ofLines())
            .body()
            .forEach(System.out::println);
    }
}
