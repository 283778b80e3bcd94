package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.core.Base64Variant;
import com.fasterxml.jackson.core.Base64Variants;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.Parser;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelRepositoryParameter;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.ByteBufOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;

/**
 * Converts requests to load or unload a model, whose messages have the same fields, to the other protocol. Their
 * parameters may be the model's files, many MiB of base64 in JSON, so they are streamed instead of read into a tree;
 * heap usage is about twice the size of the files.
 */
final class LoadRequests {
    /** Prefix of the parameters that hold the bytes of a file. */
    static final String FILE = "file:";

    private static final Base64Variant BASE64 =
            Base64Variants.MIME_NO_LINEFEEDS.withReadPadding(Base64Variant.PaddingReadBehaviour.PADDING_ALLOWED);

    private static final Parser<RepositoryModelLoadRequest> MESSAGE =
            DiscardUnknownFieldsParser.wrap(RepositoryModelLoadRequest.parser());

    private LoadRequests() {}

    /**
     * The request as protobuf, owned by the caller.
     *
     * @param load contains the names of repository and model
     * @param json borrowed; already validated
     */
    static ByteBuf toProtobuf(RepositoryModelLoadRequest.Builder load, ByteBuf json) throws IOException {
        try (InputStream in = new ByteBufInputStream(json.slice());
                JsonParser parser = ProtobufJson.JSON.createParser(in)) {
            if (parser.nextToken() == JsonToken.START_OBJECT) {
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    boolean parameters = parser.currentName().equals("parameters");
                    JsonToken value = parser.nextToken();
                    if (parameters && value == JsonToken.START_OBJECT) {
                        parameters(parser, load);
                    } else if (parameters && value != JsonToken.VALUE_NULL) {
                        throw OipException.invalid("'parameters': an object is expected");
                    } else {
                        parser.skipChildren();
                    }
                }
            }
        }
        return written(json, load.build()::writeTo);
    }

    private static void parameters(JsonParser parser, RepositoryModelLoadRequest.Builder load) throws IOException {
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            parser.nextToken();
            load.putParameters(name, parameter(name, parser));
        }
    }

    /** The parameter of the value that a parser is at. */
    private static ModelRepositoryParameter parameter(String name, JsonParser parser) throws IOException {
        ModelRepositoryParameter.Builder parameter = ModelRepositoryParameter.newBuilder();
        switch (parser.currentToken()) {
            case VALUE_TRUE, VALUE_FALSE -> parameter.setBoolParam(parser.getBooleanValue());
            case VALUE_NUMBER_INT -> {
                if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
                    throw unexpected(name);
                }
                parameter.setInt64Param(parser.getLongValue());
            }
            case VALUE_STRING -> {
                if (name.startsWith(FILE)) {
                    parameter.setBytesParam(file(name, parser));
                } else {
                    parameter.setStringParam(parser.getText());
                }
            }
            default -> throw unexpected(name);
        }
        return parameter.build();
    }

    private static OipException unexpected(String name) {
        return OipException.invalid("parameter '" + name + "': a string, an integer or a boolean is expected");
    }

    private static ByteString file(String name, JsonParser parser) throws IOException {
        ByteString.Output bytes = ByteString.newOutput();
        try {
            parser.readBinaryValue(BASE64, bytes);
        } catch (JsonProcessingException | IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "'" + name + "': base64 is expected", e);
        }
        return bytes.toByteString();
    }

    /** The body for a REST server, owned by the caller, from a message (borrowed). */
    static ByteBuf toJson(ByteBuf message) throws IOException {
        CodedInputStream in = CodedInputStream.newInstance(Arrays.asList(message.nioBuffers()));
        RepositoryModelLoadRequest load = MESSAGE.parseFrom(in);
        return written(message, out -> {
            try (JsonGenerator json = ProtobufJson.JSON.createGenerator(out)) {
                json.writeStartObject();
                json.writeObjectFieldStart("parameters");
                for (var parameter : load.getParametersMap().entrySet()) {
                    json.writeFieldName(parameter.getKey());
                    write(parameter.getValue(), json);
                }
                json.writeEndObject();
                json.writeEndObject();
            }
        });
    }

    private static void write(ModelRepositoryParameter value, JsonGenerator json) throws IOException {
        switch (value.getParameterChoiceCase()) {
            case BOOL_PARAM -> json.writeBoolean(value.getBoolParam());
            case INT64_PARAM -> json.writeNumber(value.getInt64Param());
            case STRING_PARAM -> json.writeString(value.getStringParam());
            case BYTES_PARAM ->
                json.writeBinary(
                        BASE64,
                        value.getBytesParam().newInput(),
                        value.getBytesParam().size());
            case PARAMETERCHOICE_NOT_SET -> json.writeNull();
        }
    }

    @FunctionalInterface
    private interface LoadWriter {
        void to(OutputStream out) throws IOException;
    }

    /** Writes into direct memory of the size of the source. */
    private static ByteBuf written(ByteBuf from, LoadWriter writing) throws IOException {
        ByteBuf to = from.alloc().buffer(from.readableBytes() + 64);
        try (OutputStream out = new ByteBufOutputStream(to)) {
            writing.to(out);
            return to.retain();
        } finally {
            to.release();
        }
    }
}
