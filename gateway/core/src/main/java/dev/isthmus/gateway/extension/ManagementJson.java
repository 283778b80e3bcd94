package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Message;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;

/**
 * Converts requests and responses of the management extensions to the other protocol, as the {@link Extension} table
 * describes.
 */
public final class ManagementJson {
    private static final byte[] NOTHING = {};

    private ManagementJson() {}

    /** The failure of a request whose body cannot be read. */
    public static OipException malformed(IOException cause) {
        String problem = cause instanceof JsonProcessingException json
                ? json.getOriginalMessage()
                : String.valueOf(cause.getMessage());
        return new OipException(ErrorCode.INVALID_ARGUMENT, "the body is malformed: " + problem, cause);
    }

    /**
     * The request (borrowed) of a REST client as a protobuf message, owned by the caller.
     *
     * @param resource the name of a repository or a shared memory region; empty for none or all
     * @throws IOException if the body is not JSON
     * @throws OipException INVALID_ARGUMENT if the JSON is not a valid request
     */
    public static ByteBuf toProtobuf(Extension extension, ModelRef model, String resource, ByteBuf content)
            throws IOException {
        if (extension.requestForm().equals(JsonForm.PARAMETERS)) {
            RepositoryModelLoadRequest.Builder load = RepositoryModelLoadRequest.newBuilder();
            Extension.REPOSITORY_LOAD.request().name(load, model, resource);
            return LoadRequests.toProtobuf(load, content);
        }
        Message.Builder message = extension.request().type().newBuilderForType();
        extension.requestForm().reader().read(document(content), message);
        extension.request().name(message, model, resource);
        return Unpooled.wrappedBuffer(message.build().toByteArray());
    }

    /**
     * A REST client's request for a repository index (borrowed), as all REST servers read it, owned by the caller: as
     * it came, or empty if it has null for what is not set, which Triton refuses.
     *
     * @throws IOException if the body is not JSON
     * @throws OipException INVALID_ARGUMENT if the JSON is not a valid request
     */
    public static ByteBuf index(ByteBuf content) throws IOException {
        JsonNode json = document(content);
        Extension.REPOSITORY_INDEX.requestForm().reader().read(json, RepositoryIndexRequest.newBuilder());
        return json.path("ready").isNull() ? Unpooled.EMPTY_BUFFER : content.retain();
    }

    private static JsonNode document(ByteBuf content) throws IOException {
        InputStream in = new ByteBufInputStream(content.slice());
        JsonNode json = content.isReadable() ? ProtobufJson.JSON.readTree(in) : ProtobufJson.object();
        if (!json.isObject()) {
            throw OipException.invalid("the body: an object is expected");
        }
        return json;
    }

    /** The JSON body of a request (borrowed) for a REST server, owned by the caller; names are in the path. */
    public static ByteBuf toJson(Extension extension, ByteBuf message) throws IOException {
        JsonForm form = extension.requestForm();
        if (form.equals(JsonForm.PARAMETERS)) {
            return LoadRequests.toJson(message);
        }
        JsonNode json = ProtobufJson.object();
        if (!form.equals(JsonForm.NOTHING)) {
            json = form.writer()
                    .write(extension.request().type().getParserForType().parseFrom(message.nioBuffer()));
        }
        if (form.equals(JsonForm.FIELDS) && json instanceof ObjectNode object) {
            extension.request().names().forEach(name -> object.remove(name.getName()));
        }
        return Unpooled.wrappedBuffer(ProtobufJson.JSON.writeValueAsBytes(json));
    }

    /** The JSON of a protobuf response; empty if REST has no body. */
    public static byte[] toJson(Extension extension, byte[] content) throws IOException {
        JsonForm form = extension.responseForm();
        if (form.equals(JsonForm.NOTHING)) {
            return NOTHING;
        }
        Message message = extension.response().getParserForType().parseFrom(content);
        return ProtobufJson.JSON.writeValueAsBytes(form.writer().write(message));
    }

    /**
     * The protobuf message of a JSON response.
     *
     * @throws IOException if the JSON is not a response of the extension
     */
    public static byte[] toProtobuf(Extension extension, byte[] content) throws IOException {
        JsonNode json = content.length == 0 ? ProtobufJson.object() : ProtobufJson.JSON.readTree(content);
        if (!json.isContainerNode()) {
            throw new IOException("an object or an array is expected");
        }
        Message.Builder message = extension.response().newBuilderForType();
        extension.responseForm().reader().read(json, message);
        return message.build().toByteArray();
    }
}
