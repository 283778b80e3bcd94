package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.Http2Client;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** The same request over either version of HTTP, each on a connection of its own. */
enum HttpClients {
    HTTP_1_1 {
        @Override
        Ingress.Response ask(Ingress ingress, String method, String path, byte[] body, String... headers)
                throws Exception {
            StringBuilder head = new StringBuilder(method + " " + path + " HTTP/1.1\r\nHost: a\r\n");
            for (int i = 0; i < headers.length; i += 2) {
                head.append(headers[i]).append(": ").append(headers[i + 1]).append("\r\n");
            }
            head.append("Content-Length: ").append(body.length).append("\r\n\r\n");
            try (Ingress.Client client = ingress.connect()) {
                return client.send(head + new String(body, StandardCharsets.ISO_8859_1))
                        .read();
            }
        }
    },
    HTTP_2 {
        @Override
        Ingress.Response ask(Ingress ingress, String method, String path, byte[] body, String... headers)
                throws Exception {
            String[] lower = headers.clone();
            for (int i = 0; i < lower.length; i += 2) {
                lower[i] = lower[i].toLowerCase(Locale.ROOT);
            }
            try (Http2Client client = new Http2Client(ingress.port())) {
                Http2Client.Response response = client.ask(method, path, body, lower);
                String content = response.body();
                Map<String, String> fields = new LinkedHashMap<>();
                response.head()
                        .forEach(each -> fields.put(
                                each.getKey().toString(), each.getValue().toString()));
                return new Ingress.Response(
                        Integer.parseInt(response.head().status().toString()), fields, content);
            }
        }
    };

    /** @param headers names and values in turn */
    abstract Ingress.Response ask(Ingress ingress, String method, String path, byte[] body, String... headers)
            throws Exception;
}
