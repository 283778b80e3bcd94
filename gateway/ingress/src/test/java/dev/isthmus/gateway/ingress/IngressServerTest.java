package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.net.Transport;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class IngressServerTest {

    private static RequestSink live(Call call, Reply reply) {
        reply.only(new ReplyMessage.Live(true));
        return RequestSink.ENDED;
    }

    @Test
    void close_acceptsWhatIsEstablished_first() throws Exception {
        List<Ingress.Client> clients = new ArrayList<>();
        try (Ingress ingress = new Ingress(Transport.best(), IngressServerTest::live, 1000)) {
            ingress.block();
            // More than the event loop accepts in one turn.
            for (int i = 0; i < 200; i++) {
                clients.add(ingress.connect().get("/v2/health/live"));
            }
            ingress.closeListener();
            for (Ingress.Client client : clients) {
                assertThat(client.read().status()).isEqualTo(200);
            }
        } finally {
            for (Ingress.Client client : clients) {
                client.close();
            }
        }
    }
}
