package dev.isthmus.gateway.dispatch;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.health.HealthCheckRequest;
import dev.isthmus.proto.reflection.v1.ErrorResponse;
import dev.isthmus.proto.reflection.v1.ExtensionNumberResponse;
import dev.isthmus.proto.reflection.v1.FileDescriptorResponse;
import dev.isthmus.proto.reflection.v1.ListServiceResponse;
import dev.isthmus.proto.reflection.v1.ServerReflectionRequest;
import dev.isthmus.proto.reflection.v1.ServerReflectionResponse;
import dev.isthmus.proto.reflection.v1.ServiceResponse;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The gateway's gRPC services as server reflection describes them. */
final class ServiceDescriptors {
    /** One message of each file that has a service. */
    private static final List<Descriptor> ROOTS = List.of(
            ModelInferRequest.getDescriptor(),
            HealthCheckRequest.getDescriptor(),
            ServerReflectionRequest.getDescriptor(),
            dev.isthmus.proto.reflection.v1alpha.ServerReflectionRequest.getDescriptor());

    private static final Map<String, FileDescriptor> FILES = new LinkedHashMap<>();
    private static final Map<String, FileDescriptor> SYMBOLS = new LinkedHashMap<>();
    private static final Set<String> SERVICES = new LinkedHashSet<>();

    static {
        ROOTS.forEach(root -> add(root.getFile()));
    }

    private ServiceDescriptors() {}

    private static void add(FileDescriptor file) {
        if (FILES.putIfAbsent(file.getFullName(), file) != null) {
            return;
        }
        file.getDependencies().forEach(ServiceDescriptors::add);
        for (ServiceDescriptor service : file.getServices()) {
            SERVICES.add(service.getFullName());
            SYMBOLS.put(service.getFullName(), file);
            for (MethodDescriptor method : service.getMethods()) {
                SYMBOLS.put(method.getFullName(), file);
            }
        }
        file.getMessageTypes().forEach(ServiceDescriptors::add);
        file.getEnumTypes().forEach(ServiceDescriptors::add);
    }

    private static void add(Descriptor message) {
        SYMBOLS.put(message.getFullName(), message.getFile());
        message.getFields().forEach(field -> SYMBOLS.put(field.getFullName(), message.getFile()));
        message.getNestedTypes().forEach(ServiceDescriptors::add);
        message.getEnumTypes().forEach(ServiceDescriptors::add);
    }

    private static void add(EnumDescriptor type) {
        SYMBOLS.put(type.getFullName(), type.getFile());
    }

    /** The response to a request; never an exception, because the stream continues after an error. */
    static ServerReflectionResponse response(ServerReflectionRequest request) {
        ServerReflectionResponse.Builder response = ServerReflectionResponse.newBuilder()
                .setValidHost(request.getHost())
                .setOriginalRequest(request);
        return switch (request.getMessageRequestCase()) {
            case LIST_SERVICES -> response.setListServicesResponse(services()).build();
            case FILE_BY_FILENAME ->
                file(response, FILES.get(request.getFileByFilename()), request.getFileByFilename());
            case FILE_CONTAINING_SYMBOL ->
                file(response, SYMBOLS.get(request.getFileContainingSymbol()), request.getFileContainingSymbol());
            case ALL_EXTENSION_NUMBERS_OF_TYPE -> extensions(response, request.getAllExtensionNumbersOfType());
            case FILE_CONTAINING_EXTENSION ->
                error(response, ErrorCode.NOT_FOUND, "no service has extensions of messages");
            case MESSAGEREQUEST_NOT_SET -> error(response, ErrorCode.INVALID_ARGUMENT, "message_request is expected");
        };
    }

    private static ListServiceResponse services() {
        ListServiceResponse.Builder list = ListServiceResponse.newBuilder();
        SERVICES.forEach(name -> list.addService(ServiceResponse.newBuilder().setName(name)));
        return list.build();
    }

    private static ServerReflectionResponse file(
            ServerReflectionResponse.Builder response, @Nullable FileDescriptor file, String wanted) {
        if (file == null) {
            return error(response, ErrorCode.NOT_FOUND, "'" + wanted + "' is not known");
        }
        Set<FileDescriptor> all = new LinkedHashSet<>();
        withDependencies(file, all);
        FileDescriptorResponse.Builder files = FileDescriptorResponse.newBuilder();
        all.forEach(each ->
                files.addFileDescriptorProto(ByteString.copyFrom(each.toProto().toByteArray())));
        return response.setFileDescriptorResponse(files).build();
    }

    private static void withDependencies(FileDescriptor file, Set<FileDescriptor> all) {
        if (all.add(file)) {
            file.getDependencies().forEach(each -> withDependencies(each, all));
        }
    }

    private static ServerReflectionResponse extensions(ServerReflectionResponse.Builder response, String type) {
        return SYMBOLS.containsKey(type)
                ? response.setAllExtensionNumbersResponse(
                                ExtensionNumberResponse.newBuilder().setBaseTypeName(type))
                        .build()
                : error(response, ErrorCode.NOT_FOUND, "'" + type + "' is not known");
    }

    private static ServerReflectionResponse error(
            ServerReflectionResponse.Builder response, ErrorCode code, String message) {
        return response.setErrorResponse(ErrorResponse.newBuilder()
                        .setErrorCode(code.grpcStatus())
                        .setErrorMessage(message))
                .build();
    }
}
