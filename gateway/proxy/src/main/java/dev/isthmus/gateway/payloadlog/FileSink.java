package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.logfile.LogOutput;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;

/** Appends events to a file, one line each, in CloudEvents' JSON format. */
final class FileSink implements EventSink {
    private static final byte[] NONE = {};
    private static final byte[] END = {'}', '\n'};
    private static final byte[] TEXT_END = {'"', '}', '\n'};

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
            listener.lost(LossReason.IO_ERROR, e.toString());
        }
    }

    /** The event as one line; its data is copied once. */
    static byte[] line(CloudEvent event) {
        byte[] attributes = attributes(event);
        if (!event.hasData()) {
            return joined(attributes, NONE, 0, END);
        }
        if (event.isJson()) {
            return joined(attributes, event.data(), event.length(), END);
        }
        ByteBuffer base64 = Base64.getEncoder().encode(ByteBuffer.wrap(event.data(), 0, event.length()));
        return joined(attributes, base64.array(), base64.limit(), TEXT_END);
    }

    /** The attributes, up to where the data begins. */
    private static byte[] attributes(CloudEvent event) {
        JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
        try {
            json.open('{');
            event.attributes().forEach((name, value) -> json.key(name).text(value));
            if (event.hasData()) {
                json.key("datacontenttype").text(event.contentType());
                json.key(event.isJson() ? "data" : "data_base64");
                if (!event.isJson()) {
                    json.out().writeByte('"');
                }
            }
            return ByteBufUtil.getBytes(json.out());
        } finally {
            json.release();
        }
    }

    private static byte[] joined(byte[] head, byte[] data, int length, byte[] end) {
        byte[] line = Arrays.copyOf(head, head.length + length + end.length);
        System.arraycopy(data, 0, line, head.length, length);
        System.arraycopy(end, 0, line, head.length + length, end.length);
        return line;
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
