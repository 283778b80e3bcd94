package dev.isthmus.bench.attack;

import com.google.protobuf.CodedOutputStream;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.bench.http2.FrameBytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;

/** gRPC messages and REST bodies. */
final class Messages {
    private Messages() {}

    /** An inference request with this many FP32 elements and an id. */
    static byte[] infer(String model, String id, int elements) {
        return RawMethods.request(model, id, "FP32", new byte[4 * elements], 1L, (long) elements);
    }

    /** An inference request in JSON with four elements. */
    static byte[] json(String id) {
        return Http1.text("{\"id\":\"" + id
                + "\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}");
    }

    /** An inference request in JSON of about this many bytes. */
    static byte[] longJson(int bytes) {
        int elements = bytes / 2;
        byte[] data = FrameBytes.times(Http1.text("0,"), elements);
        return FrameBytes.join(
                Http1.text(
                        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1," + elements + "],\"data\":["),
                Arrays.copyOf(data, data.length - 1),
                Http1.text("]}]}"));
    }

    /** The JSON part of a REST request with binary data of this many FP32 elements. */
    static byte[] binaryHead(int elements) {
        return Http1.text("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1," + elements
                + "],\"parameters\":{\"binary_data_size\":" + 4 * elements + "}}]}");
    }

    /** Unknown protobuf fields with distinct numbers, of about this many bytes in total. */
    static byte[] unknownFields(int bytes) {
        try {
            ByteArrayOutputStream all = new ByteArrayOutputStream(bytes + 16);
            CodedOutputStream out = CodedOutputStream.newInstance(all);
            for (int field = 1_000; out.getTotalBytesWritten() < bytes; field++) {
                out.writeInt32(field, 1);
            }
            out.flush();
            return all.toByteArray();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * A JSON object of about this many bytes with distinct member names, between the texts {@code before} and
     * {@code behind}.
     */
    static byte[] keys(String before, int bytes, String behind) {
        StringBuilder text = new StringBuilder(bytes + 64).append(before).append('{');
        for (int key = 0; text.length() < bytes; key++) {
            text.append(key == 0 ? "\"k" : ",\"k").append(key).append("\":0");
        }
        return text.append('}').append(behind).toString().getBytes(StandardCharsets.US_ASCII);
    }

    static byte[] gzip(byte[] bytes) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(all)) {
            gzip.write(bytes);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return all.toByteArray();
    }

    /** A chunked body, in chunks of one byte. */
    static byte[] chunks(byte[] body) {
        byte[] all = new byte[6 * body.length];
        byte[] chunk = Http1.text("1\r\n?\r\n");
        for (int i = 0; i < body.length; i++) {
            chunk[3] = body[i];
            System.arraycopy(chunk, 0, all, 6 * i, 6);
        }
        return FrameBytes.join(all, Http1.text("0\r\n\r\n"));
    }

    /** A message in DATA frames of one byte each; the last one ends the stream. */
    static byte[] frames(int stream, byte[] message) {
        byte[] all = new byte[10 * message.length];
        for (int i = 0; i < message.length; i++) {
            int flags = i == message.length - 1 ? FrameBytes.END_STREAM : 0;
            System.arraycopy(
                    FrameBytes.frame(FrameBytes.DATA, flags, stream, new byte[] {message[i]}), 0, all, 10 * i, 10);
        }
        return all;
    }
}
