package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.logfile.LogOutput;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Appends events to a file, one line each, in CloudEvents' JSON format. */
final class FileSink implements EventSink {
    private static final byte[] END = {'}', '\n'};

    private final LogOutput output;
    private final DeliveryListener listener;

    FileSink(PayloadLogConfig config, DeliveryListener listener) {
        this.output = new LogOutput(config.file(), config.rotateAt(), config.keep());
        this.listener = listener;
    }

    @Override
    public void send(CloudEvent event) {
        byte[] line = line(event);
        try {
            output.write(line, line.length);
            listener.delivered();
        } catch (IOException e) {
            listener.lost(LossReason.IO_ERROR, FailureReason.of(e));
        }
    }

    /** The event as one line. */
    static byte[] line(CloudEvent event) {
        byte[] attributes = attributes(event);
        ByteBuffer data = event.value();
        return ByteBuffer.allocate(attributes.length + data.remaining() + END.length)
                .put(attributes)
                .put(data)
                .put(END)
                .array();
    }

    /** The attributes, up to where the data begins. */
    private static byte[] attributes(CloudEvent event) {
        JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
        try {
            json.open('{');
            event.attributes().forEach((name, value) -> json.key(name).text(value));
            if (event.hasData()) {
                json.key("datacontenttype").text(event.contentType());
                json.key(event.member("data"));
            }
            return ByteBufUtil.getBytes(json.out());
        } finally {
            json.release();
        }
    }

    @Override
    public void close() {
        try {
            output.close();
        } catch (IOException e) {
            listener.lost(LossReason.IO_ERROR, FailureReason.of(e));
        }
    }
}
