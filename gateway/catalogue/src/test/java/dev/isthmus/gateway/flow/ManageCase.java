package dev.isthmus.gateway.flow;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.isthmus.proto.Inference;
import java.util.List;
import java.util.Objects;

/**
 * One operation of a management extension in both protocols, request and response.
 *
 * @param http method and path
 * @param json the REST request's body
 * @param method of gRPC
 * @param request as protobuf text
 * @param response as protobuf text
 * @param responseJson the REST response's body
 */
record ManageCase(String http, String json, String method, String request, String response, String responseJson) {

    /** Everything that both protocols can express. */
    static final List<ManageCase> ALL = List.of(
            new ManageCase("GET /v2/models/m/stats", "", "ModelStatistics", "name: 'm'", """
                    model_stats {
                      name: 'm' version: '1' last_inference: 5 inference_count: 18446744073709551615
                      inference_stats { success { count: 2 ns: 9007199254740993 } fail { } }
                      batch_stats { batch_size: 4 compute_infer { count: 1 } }
                      memory_usage { type: 'GPU' id: -1 byte_size: 7 }
                      response_stats { key: '0' value { cancel { count: 3 } } }
                    }""", """
                    {"model_stats":[{"name":"m","version":"1","last_inference":5,\
                    "inference_count":18446744073709551615,"execution_count":0,\
                    "inference_stats":{"success":{"count":2,"ns":9007199254740993},"fail":{"count":0,"ns":0}},\
                    "batch_stats":[{"batch_size":4,"compute_infer":{"count":1,"ns":0}}],\
                    "memory_usage":[{"type":"GPU","id":-1,"byte_size":7}],\
                    "response_stats":{"0":{"cancel":{"count":3,"ns":0}}}}]}"""),
            new ManageCase(
                    "GET /v2/models/m/versions/3/config",
                    "",
                    "ModelConfig",
                    "name: 'm' version: '3'",
                    // name: "m" max_batch_size: -1 input { data_type: TYPE_FP32 dims: -1 } sequence_batching { direct {
                    // 0.5 } }
                    "config: '\\n\\001m \\377\\377\\377\\377\\377\\377\\377\\377\\377\\001*\\016\\020\\013\"\\n\\377"
                            + "\\377\\377\\377\\377\\377\\377\\377\\377\\001j\\007\\032\\005\\025\\000\\000\\000?'",
                    """
                    {"name":"m","platform":"","backend":"","runtime":"","max_batch_size":-1,"input":[{"name":"",\
                    "data_type":"TYPE_FP32","format":"FORMAT_NONE","dims":[-1],"is_shape_tensor":false,\
                    "allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false}],"output":[],\
                    "batch_input":[],"batch_output":[],"sequence_batching":{"direct":{"max_queue_delay_microseconds":0,\
                    "minimum_slot_utilization":0.5},"max_sequence_idle_microseconds":0,"control_input":[],"state":[],\
                    "iterative_sequence":false},"instance_group":[],"default_model_filename":"","cc_model_filenames":{},\
                    "metric_tags":{},"parameters":{},"model_warmup":[]}"""),
            new ManageCase(
                    "GET /v2/models/m/versions/3/stats",
                    "",
                    "ModelStatistics",
                    "name: 'm' version: '3'",
                    "",
                    "{\"model_stats\":[]}"),
            new ManageCase("GET /v2/models/stats", "", "ModelStatistics", "", "", "{\"model_stats\":[]}"),
            new ManageCase(
                    "GET /v2/trace/setting",
                    "",
                    "TraceSetting",
                    "",
                    "settings { key: 'trace_level' value { value: 'OFF' } }"
                            + " settings { key: 'trace_rate' value { value: '1000' } }",
                    "{\"trace_level\":[\"OFF\"],\"trace_rate\":\"1000\"}"),
            new ManageCase(
                    "POST /v2/models/m/trace/setting",
                    "{\"trace_level\":[\"A\",\"B\"],\"trace_rate\":\"5\",\"trace_file\":null}",
                    "TraceSetting",
                    "model_name: 'm' settings { key: 'trace_file' value { } }"
                            + " settings { key: 'trace_level' value { value: 'A' value: 'B' } }"
                            + " settings { key: 'trace_rate' value { value: '5' } }",
                    "settings { key: 'trace_level' value { value: 'A' value: 'B' } }",
                    "{\"trace_level\":[\"A\",\"B\"]}"),
            new ManageCase("GET /v2/logging", "", "LogSettings", "", "", "{}"),
            new ManageCase(
                    "POST /v2/logging",
                    "{\"log_file\":\"x\",\"log_info\":true,\"log_verbose_level\":4294967295}",
                    "LogSettings",
                    "settings { key: 'log_file' value { string_param: 'x' } }"
                            + " settings { key: 'log_info' value { bool_param: true } }"
                            + " settings { key: 'log_verbose_level' value { uint32_param: 4294967295 } }",
                    "settings { key: 'log_format' value { string_param: 'default' } }"
                            + " settings { key: 'log_error' value { bool_param: false } }"
                            + " settings { key: 'log_verbose_level' value { uint32_param: 4294967295 } }",
                    "{\"log_format\":\"default\",\"log_error\":false,\"log_verbose_level\":4294967295}"),
            new ManageCase(
                    "POST /v2/repository/index",
                    "{\"ready\":true}",
                    "RepositoryIndex",
                    "ready: true",
                    "models { name: 'a' } models { name: 'b' version: '2' state: 'UNAVAILABLE' reason: 'so' }",
                    "[{\"name\":\"a\"},"
                            + "{\"name\":\"b\",\"version\":\"2\",\"state\":\"UNAVAILABLE\",\"reason\":\"so\"}]"),
            new ManageCase(
                    "POST /v2/repository/r%201/index",
                    "{\"ready\":false}", "RepositoryIndex", "repository_name: 'r 1'", "", "[]"),
            new ManageCase(
                    "POST /v2/repository/models/m%2B/load",
                    "{\"parameters\":{\"config\":\"{}\",\"file:1/model.onnx\":\"AP8=\",\"n\":-5,\"on\":true}}",
                    "RepositoryModelLoad",
                    "model_name: 'm+' parameters { key: 'config' value { string_param: '{}' } }"
                            + " parameters { key: 'file:1/model.onnx' value { bytes_param: '\\000\\377' } }"
                            + " parameters { key: 'n' value { int64_param: -5 } }"
                            + " parameters { key: 'on' value { bool_param: true } }",
                    "",
                    ""),
            new ManageCase(
                    "POST /v2/repository/r/models/m/unload",
                    "{\"parameters\":{\"unload_dependents\":true}}",
                    "RepositoryModelUnload",
                    "repository_name: 'r' model_name: 'm'"
                            + " parameters { key: 'unload_dependents' value { bool_param: true } }",
                    "",
                    ""),
            new ManageCase(
                    "GET /v2/systemsharedmemory/region/r/status",
                    "",
                    "SystemSharedMemoryStatus",
                    "name: 'r'",
                    "regions { key: 'r' value { name: 'r' key: '/k' offset: 4 byte_size: 8 } }",
                    "[{\"name\":\"r\",\"key\":\"/k\",\"offset\":4,\"byte_size\":8}]"),
            new ManageCase("GET /v2/systemsharedmemory/status", "", "SystemSharedMemoryStatus", "", "", "[]"),
            new ManageCase(
                    "POST /v2/systemsharedmemory/region/r/register",
                    "{\"key\":\"/k\",\"offset\":4,\"byte_size\":8}",
                    "SystemSharedMemoryRegister",
                    "name: 'r' key: '/k' offset: 4 byte_size: 8",
                    "",
                    ""),
            new ManageCase(
                    "POST /v2/systemsharedmemory/region/r/unregister",
                    "{}",
                    "SystemSharedMemoryUnregister",
                    "name: 'r'",
                    "",
                    ""),
            new ManageCase("POST /v2/systemsharedmemory/unregister", "{}", "SystemSharedMemoryUnregister", "", "", ""),
            new ManageCase(
                    "GET /v2/cudasharedmemory/status",
                    "",
                    "CudaSharedMemoryStatus",
                    "",
                    "regions { key: 'r' value { name: 'r' device_id: 1 byte_size: 8 } }",
                    "[{\"name\":\"r\",\"device_id\":1,\"byte_size\":8}]"),
            new ManageCase(
                    "POST /v2/cudasharedmemory/region/r/register",
                    "{\"raw_handle\":{\"b64\":\"AAH/\"},\"device_id\":1,\"byte_size\":8}",
                    "CudaSharedMemoryRegister",
                    "name: 'r' raw_handle: '\\000\\001\\377' device_id: 1 byte_size: 8",
                    "",
                    ""),
            new ManageCase(
                    "POST /v2/cudasharedmemory/region/r/unregister",
                    "{}",
                    "CudaSharedMemoryUnregister",
                    "name: 'r'",
                    "",
                    ""));

    String httpMethod() {
        return http.substring(0, http.indexOf(' '));
    }

    String path() {
        return http.substring(http.indexOf(' ') + 1);
    }

    Message requestMessage() throws TextFormat.ParseException {
        return message(method + "Request", request);
    }

    Message responseMessage() throws TextFormat.ParseException {
        return message(method + "Response", response);
    }

    private static Message message(String type, String text) throws TextFormat.ParseException {
        DynamicMessage.Builder builder = DynamicMessage.newBuilder(descriptor(type));
        TextFormat.merge(text, builder);
        return builder.build();
    }

    private static Descriptor descriptor(String type) {
        return Objects.requireNonNull(Inference.getDescriptor().findMessageTypeByName(type));
    }

    @Override
    public String toString() {
        return http;
    }
}
