package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.logfile.LogOutput;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Appends events to a file, one line each, in CloudEvents' JSON format. */
final class FileSink implements EventSink {
    private final LogOutput output;
    private final PayloadLog log;

    FileSink(PayloadLogConfig config, PayloadLog log) {
        this.output = new LogOutput(config.file(), config.rotateAt(), config.keep());
        this.log = log;
    }

    @Override
    public void send(CloudEvent event) {
        ByteBuf line = line(event);
        try {
            output.write(line.array(), line.readableBytes());
            log.delivered();
        } catch (IOException e) {
            log.lost(LossReason.IO_ERROR, FailureReason.of(e));
        }
    }

    /** The event as one line, in an array of its own; data is a string unless it is JSON (3.1). */
    static ByteBuf line(CloudEvent event) {
        JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
        json.open('{');
        event.attributes().forEach((name, value) -> json.key(name).text(value));
        if (event.hasData()) {
            json.key("datacontenttype").text(event.contentType());
            data(json, event);
        }
        json.close('}').out().writeByte('\n');
        return json.take();
    }

    private static void data(JsonWriter json, CloudEvent event) {
        switch (event.contentType()) {
            case CloudEvent.BINARY -> {
                ByteBuffer encoded = Base64.getEncoder().encode(ByteBuffer.wrap(event.data(), 0, event.length()));
                json.key("data_base64").text(new String(encoded.array(), StandardCharsets.ISO_8859_1));
            }
            case CloudEvent.EVENT_STREAM ->
                json.key("data").text(new String(event.data(), 0, event.length(), StandardCharsets.UTF_8));
            default -> {
                json.key("data").item();
                json.out().writeBytes(event.data(), 0, event.length());
            }
        }
    }

    @Override
    public void close() {
        try {
            output.close();
        } catch (IOException e) {
            log.lost(LossReason.IO_ERROR, FailureReason.of(e));
        }
    }
}
