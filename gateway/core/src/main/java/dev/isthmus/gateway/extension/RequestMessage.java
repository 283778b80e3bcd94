package dev.isthmus.gateway.extension;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.WireFormat;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.MessageSplice;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The protobuf message of a request, and which of its fields are names, which REST has in the path. */
final class RequestMessage {
    /** Maximum number of fields of a message that is not parsed; each parameter is a field. */
    private static final int MAX_FIELDS = 1024;

    private static final int MAX_NAME = 64 << 10;

    private final Message type;
    private final @Nullable FieldDescriptor model;
    private final @Nullable FieldDescriptor version;
    private final @Nullable FieldDescriptor resource;
    private final boolean parameters;

    /**
     * A message by its fields. What {@code name} names depends on it: a model if there is a {@code version}, too, otherwise
     * a shared memory region.
     */
    RequestMessage(Message type) {
        Descriptor fields = type.getDescriptorForType();
        FieldDescriptor name = fields.findFieldByName("name");
        this.type = type;
        this.version = fields.findFieldByName("version");
        this.model = version == null ? fields.findFieldByName("model_name") : name;
        this.resource = version == null && name != null ? name : fields.findFieldByName("repository_name");
        this.parameters = fields.findFieldByName("parameters") != null;
    }

    Message type() {
        return type;
    }

    Stream<FieldDescriptor> names() {
        return Stream.of(model, version, resource).filter(Objects::nonNull).map(FieldDescriptor.class::cast);
    }

    private boolean isName(FieldDescriptor field) {
        return names().anyMatch(field::equals);
    }

    void name(Message.Builder request, ModelRef requested, String resourceName) {
        set(request, model, requested.name());
        set(request, version, requested.version());
        set(request, resource, resourceName);
    }

    private static void set(Message.Builder request, @Nullable FieldDescriptor field, String name) {
        if (field != null) {
            request.setField(field, name);
        }
    }

    /**
     * The names in a request.
     *
     * @param settings whether it contains anything but names
     * @param modelFirst whether the model was named in the field of the resource
     */
    record NamedRequest(ModelRef model, String resource, boolean settings, boolean modelFirst) {}

    /**
     * Reads the names of a request (borrowed). Other fields are not kept.
     *
     * @param what the operation, for the error message
     */
    NamedRequest read(String what, ByteBuf message) throws InvalidProtocolBufferException {
        if (parameters) {
            return scanned(what, message);
        }
        Message request =
                DiscardUnknownFieldsParser.wrap(type.getParserForType()).parseFrom(message.nioBuffer());
        ModelRef requested = new ModelRef(text(request, model), text(request, version));
        boolean settings = request.getAllFields().keySet().stream().anyMatch(field -> !isName(field));
        return new NamedRequest(requested, text(request, resource), settings, false);
    }

    private static String text(Message request, @Nullable FieldDescriptor field) {
        return field == null ? "" : (String) request.getField(field);
    }

    /** Skips the parameters, which may be whole models. */
    private NamedRequest scanned(String what, ByteBuf message) throws InvalidProtocolBufferException {
        CodedInputStream in = CodedInputStream.newInstance(Arrays.asList(message.nioBuffers()));
        String named = "";
        String resourceName = "";
        try {
            int fields = 0;
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (++fields > MAX_FIELDS) {
                    throw OipException.invalid(what + ": at most " + MAX_FIELDS + " fields are accepted");
                }
                if (tag == tag(resource)) {
                    resourceName = text(in);
                } else if (tag == tag(model)) {
                    named = text(in);
                } else {
                    in.skipField(tag);
                }
            }
        } catch (InvalidProtocolBufferException e) {
            throw e;
        } catch (IOException e) {
            throw new InvalidProtocolBufferException(e);
        }
        // KServe's requests have no repository, and the model in its field.
        return named.isEmpty()
                ? new NamedRequest(ModelRef.of(resourceName), "", true, true)
                : new NamedRequest(ModelRef.of(named), resourceName, true, false);
    }

    /** The tag of a field; 0, which is not a valid tag, for none. */
    private static int tag(@Nullable FieldDescriptor field) {
        return field == null ? 0 : field.getNumber() << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    private static String text(CodedInputStream in) throws IOException {
        int length = in.readUInt32();
        if (length < 0 || length > MAX_NAME) {
            throw OipException.invalid(
                    "a name: at most " + MAX_NAME + " bytes are accepted, got " + Integer.toUnsignedString(length));
        }
        ByteString name = ByteString.copyFrom(in.readRawBytes(length));
        if (!name.isValidUtf8()) {
            throw new InvalidProtocolBufferException("a name is not UTF-8");
        }
        return name.toStringUtf8();
    }

    /**
     * The request (borrowed) with this model, owned by the caller. The fields that name it are appended to the message:
     * the last value of a field wins.
     */
    ByteBuf renamed(ByteBuf message, ModelRef other) {
        if (model == null) {
            return MessageSplice.retained(message);
        }
        byte[] name = encoded(model, other.name());
        byte[] number = version == null ? new byte[0] : encoded(version, other.version());
        return appended(MessageSplice.retained(message), name, number);
    }

    /** The message with another model and another resource appended. */
    ByteBuf renamed(ByteBuf message, ModelRef other, String otherResource) {
        ByteBuf named = renamed(message, other);
        return resource == null ? named : appended(named, encoded(resource, otherResource));
    }

    /** @param message taken */
    private static ByteBuf appended(ByteBuf message, byte[]... fields) {
        return message.alloc()
                .compositeBuffer(Integer.MAX_VALUE)
                .addFlattenedComponents(true, message)
                .addComponent(true, Unpooled.wrappedBuffer(fields));
    }

    private static byte[] encoded(FieldDescriptor field, String text) {
        byte[] encoded = new byte[CodedOutputStream.computeStringSize(field.getNumber(), text)];
        try {
            CodedOutputStream.newInstance(encoded).writeString(field.getNumber(), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return encoded;
    }
}
