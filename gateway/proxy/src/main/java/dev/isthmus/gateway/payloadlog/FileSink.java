package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.logging.LogOutput;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.util.Base64;

/** Appends events to a file, one line each, in CloudEvents' JSON format. */
final class FileSink implements EventSink {
    private final LogOutput output;
    private final DeliveryListener listener;

    FileSink(PayloadLogConfig config, DeliveryListener listener) {
        this.output = new LogOutput(config.file(), config.rotateAt(), config.keep());
        this.listener = listener;
    }

    @Override
    public void send(CloudEvent event) {
        JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
        try {
            write(event, json);
            byte[] line = ByteBufUtil.getBytes(json.out());
            output.write(line, line.length);
            listener.delivered();
        } catch (IOException e) {
            listener.lost(LossReason.IO_ERROR, e.toString());
        } finally {
            json.release();
        }
    }

    /** Writes the line. */
    static void write(CloudEvent event, JsonWriter json) {
        json.open('{');
        event.attributes().forEach((name, value) -> json.key(name).text(value));
        if (event.hasData()) {
            json.key("datacontenttype").text(event.contentType());
            if (event.isJson()) {
                json.key("data").item();
                json.out().writeBytes(event.data());
            } else {
                json.key("data_base64").item();
                json.out().writeByte('"');
                ByteBufUtil.writeAscii(json.out(), Base64.getEncoder().encodeToString(event.data()));
                json.out().writeByte('"');
            }
        }
        json.close('}');
        json.out().writeByte('\n');
    }

    @Override
    public void close() {
        try {
            output.close();
        } catch (IOException e) {
            listener.lost(LossReason.IO_ERROR, e.toString());
        }
    }
}
