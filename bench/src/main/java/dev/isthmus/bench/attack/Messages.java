package dev.isthmus.bench.attack;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import dev.isthmus.bench.http2.FrameBytes;
import dev.isthmus.proto.ModelInferRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;

/** Messages and bodies. */
final class Messages {
    private Messages() {}

    /** A request for inference of so many FP32, with an id. */
    static byte[] infer(String model, String id, int elements) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId(id)
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("FP32")
                        .addShape(1)
                        .addShape(elements))
                .addRawInputContents(ByteString.copyFrom(new byte[4 * elements]))
                .build()
                .toByteArray();
    }

    /** The same as JSON, of four elements. */
    static byte[] json(String id) {
        return Http1.text("{\"id\":\"" + id
                + "\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}");
    }

    /** The same as JSON of about so many bytes. */
    static byte[] longJson(int bytes) {
        int elements = bytes / 2;
        byte[] data = FrameBytes.times(Http1.text("0,"), elements);
        return FrameBytes.join(
                Http1.text(
                        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1," + elements + "],\"data\":["),
                Arrays.copyOf(data, data.length - 1),
                Http1.text("]}]}"));
    }

    /** The JSON head of a REST request with binary data, of so many FP32. */
    static byte[] binaryHead(int elements) {
        return Http1.text("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1," + elements
                + "],\"parameters\":{\"binary_data_size\":" + 4 * elements + "}}]}");
    }

    /** Fields that no message has, each with a number of its own, of about so many bytes. */
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

    /** An object of about so many bytes whose members all have other names; text before and behind it. */
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

    /** A body in chunks of one byte. */
    static byte[] chunks(byte[] body) {
        byte[] all = new byte[6 * body.length];
        byte[] chunk = Http1.text("1\r\n?\r\n");
        for (int i = 0; i < body.length; i++) {
            chunk[3] = body[i];
            System.arraycopy(chunk, 0, all, 6 * i, 6);
        }
        return FrameBytes.join(all, Http1.text("0\r\n\r\n"));
    }

    /** A message in DATA frames of one byte each, the last of which ends the stream. */
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
