package dev.isthmus.gateway.extension;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
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

/** A request's protobuf message, and which of its fields are names, which REST has in the path. */
final class RequestMessage {
    /** Of a message that is not parsed, each parameter being one. */
    private static final int MOST_FIELDS = 1024;

    private static final int MOST_NAME = 64 << 10;

    private final Message type;
    private final @Nullable FieldDescriptor model;
    private final @Nullable FieldDescriptor version;
    private final @Nullable FieldDescriptor resource;
    private final boolean parameters;

    private RequestMessage(
            Message type,
            @Nullable FieldDescriptor model,
            @Nullable FieldDescriptor version,
            @Nullable FieldDescriptor resource) {
        this.type = type;
        this.model = model;
        this.version = version;
        this.resource = resource;
        this.parameters = type.getDescriptorForType().findFieldByName("parameters") != null;
    }

    /** Without names. */
    static RequestMessage of(Message type) {
        return new RequestMessage(type, null, null, null);
    }

    /** The same, whose model is named by this field. */
    RequestMessage model(String field) {
        return new RequestMessage(type, field(field), version, resource);
    }

    /** The same, whose model's version is named by this field. */
    RequestMessage version(String field) {
        return new RequestMessage(type, model, field(field), resource);
    }

    /** The same, whose repository or region is named by this field. */
    RequestMessage resource(String field) {
        return new RequestMessage(type, model, version, field(field));
    }

    private FieldDescriptor field(String name) {
        return Objects.requireNonNull(type.getDescriptorForType().findFieldByName(name), name);
    }

    Message type() {
        return type;
    }

    /** The fields that are names. */
    Stream<FieldDescriptor> names() {
        return Stream.of(model, version, resource).filter(Objects::nonNull).map(FieldDescriptor.class::cast);
    }

    /** Whether this field is a name. */
    private boolean isName(FieldDescriptor field) {
        return names().anyMatch(field::equals);
    }

    /** Sets the names. */
    void name(Message.Builder request, ModelRef asked, String resourceName) {
        set(request, model, asked.name());
        set(request, version, asked.version());
        set(request, resource, resourceName);
    }

    private static void set(Message.Builder request, @Nullable FieldDescriptor field, String name) {
        if (field != null) {
            request.setField(field, name);
        }
    }

    /**
     * What a request says besides its parameters.
     *
     * @param settings whether it has anything but names
     */
    record NamedRequest(ModelRef model, String resource, boolean settings) {}

    /**
     * Reads the names of a request (borrowed). Nothing is kept of fields that nobody reads.
     *
     * @param what the operation, for the message of a refusal
     */
    NamedRequest read(String what, ByteBuf message) throws InvalidProtocolBufferException {
        if (parameters) {
            return scanned(what, message);
        }
        Message request =
                DiscardUnknownFieldsParser.wrap(type.getParserForType()).parseFrom(message.nioBuffer());
        ModelRef asked = new ModelRef(text(request, model), text(request, version));
        boolean settings = request.getAllFields().keySet().stream().anyMatch(field -> !isName(field));
        return new NamedRequest(asked, text(request, resource), settings);
    }

    private static String text(Message request, @Nullable FieldDescriptor field) {
        return field == null ? "" : (String) request.getField(field);
    }

    /** The parameters may be whole models: they are left where they are. */
    private NamedRequest scanned(String what, ByteBuf message) throws InvalidProtocolBufferException {
        CodedInputStream in = CodedInputStream.newInstance(Arrays.asList(message.nioBuffers()));
        String named = "";
        String resourceName = "";
        try {
            int fields = 0;
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (++fields > MOST_FIELDS) {
                    throw OipException.invalid(what + ": at most " + MOST_FIELDS + " fields are taken");
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
        return new NamedRequest(ModelRef.of(named), resourceName, true);
    }

    /** 0, which is no tag, for no field. */
    private static int tag(@Nullable FieldDescriptor field) {
        return field == null ? 0 : field.getNumber() << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    private static String text(CodedInputStream in) throws IOException {
        int length = in.readUInt32();
        if (length < 0 || length > MOST_NAME) {
            throw OipException.invalid(
                    "a name: at most " + MOST_NAME + " bytes are taken, got " + Integer.toUnsignedString(length));
        }
        ByteString name = ByteString.copyFrom(in.readRawBytes(length));
        if (!name.isValidUtf8()) {
            throw new InvalidProtocolBufferException("a name is no UTF-8");
        }
        return name.toStringUtf8();
    }

    /**
     * The request (borrowed) for this model, owned by the caller: the fields that name it follow the message once more, and
     * of several values the last one counts.
     */
    ByteBuf renamed(ByteBuf message, ModelRef other) {
        if (model == null) {
            return MessageSplice.retained(message);
        }
        byte[] name = encoded(model, other.name());
        byte[] number = version == null ? new byte[0] : encoded(version, other.version());
        return message.alloc()
                .compositeBuffer(Integer.MAX_VALUE)
                .addFlattenedComponents(true, MessageSplice.retained(message))
                .addComponent(true, Unpooled.wrappedBuffer(name, number));
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
