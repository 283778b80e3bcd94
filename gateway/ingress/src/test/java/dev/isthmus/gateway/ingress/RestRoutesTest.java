package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind.ModelAction;
import dev.isthmus.gateway.call.OperationKind.ServerPath;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.http1.HeadLimits;
import dev.isthmus.gateway.http1.Http1Parser.ParserEvent;
import dev.isthmus.gateway.http1.RequestParser;
import dev.isthmus.gateway.ingress.RequestHead.Http1Head;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The routes of the management extensions' paths. */
class RestRoutesTest {

    private static RestRoutes.PathRoute route(String method, String path) {
        RequestParser parser = new RequestParser(new HeadLimits("request line", 1000, 1000, 10), 1);
        ByteBuf request = Unpooled.copiedBuffer(method + " " + path + " HTTP/1.1\r\n\r\n", StandardCharsets.US_ASCII);
        assertThat(parser.next(request)).isEqualTo(ParserEvent.HEAD);
        return RestRoutes.route(new Http1Head(parser.request(), new ClientConnection("", null, null, false)));
    }

    private static String orEmpty(String text) {
        return text.equals("-") ? "" : text;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            GET  | /v2/models/m/config                        | GET       | MODEL_CONFIG                   | m   | - | -
            POST | /v2/models/m/versions/2/config             | GET       | MODEL_CONFIG                   | m   | 2 | -
            GET  | /v2/models/stats                           | GET       | MODEL_STATISTICS               | -   | - | -
            GET  | /v2/models/stats/stats                     | GET       | MODEL_STATISTICS               | stats | - | -
            GET  | /v2/models/versions/stats                  | GET       | MODEL_STATISTICS               | versions | - | -
            GET  | /v2/models/m%20n/versions/2/stats          | GET       | MODEL_STATISTICS               | m n | 2 | -
            GET  | /v2/trace/setting                          | GET, POST | TRACE_SETTING                  | -   | - | -
            POST | /v2/models/m/trace/setting                 | GET, POST | TRACE_SETTING                  | m   | - | -
            POST | /v2/models/m/versions/2/trace/setting      | GET, POST | TRACE_SETTING                  | m   | 2 | -
            POST | /v2/logging?x=y                            | GET, POST | LOG_SETTINGS                   | -   | - | -
            POST | /v2/repository/index                       | POST      | REPOSITORY_INDEX               | -   | - | -
            POST | /v2/repository/models/index                | POST      | REPOSITORY_INDEX               | -   | - | models
            POST | /v2/repository/models/m/load               | POST      | REPOSITORY_LOAD                | m   | - | -
            POST | /v2/repository/r/models/m/unload           | POST      | REPOSITORY_UNLOAD              | m   | - | r
            GET  | /v2/systemsharedmemory/status              | GET       | SYSTEM_SHARED_MEMORY_STATUS    | -   | - | -
            GET  | /v2/systemsharedmemory/region/r/status     | GET       | SYSTEM_SHARED_MEMORY_STATUS    | -   | - | r
            POST | /v2/systemsharedmemory/region/r/register   | POST      | SYSTEM_SHARED_MEMORY_REGISTER  | -   | - | r
            POST | /v2/systemsharedmemory/unregister          | POST      | SYSTEM_SHARED_MEMORY_UNREGISTER | -  | - | -
            GET  | /v2/cudasharedmemory/region/r/status       | GET       | CUDA_SHARED_MEMORY_STATUS      | -   | - | r
            POST | /v2/cudasharedmemory/region/r/register     | POST      | CUDA_SHARED_MEMORY_REGISTER    | -   | - | r
            POST | /v2/cudasharedmemory/region/r/unregister   | POST      | CUDA_SHARED_MEMORY_UNREGISTER  | -   | - | r
            """)
    void path_leadsToItsExtension(
            String method,
            String path,
            String allow,
            Extension extension,
            String model,
            String version,
            String resource) {
        boolean change = allow.equals("GET, POST") ? method.equals("POST") : allow.equals("POST");
        ModelRef requested = new ModelRef(orEmpty(model), orEmpty(version));
        assertThat(route(method, path))
                .isEqualTo(new RestRoutes.PathRoute(
                        allow, new Operation.Manage(extension, requested, orEmpty(resource), change, true, false)));
    }

    @ParameterizedTest
    @EnumSource
    void pathAtAServer_leadsBack(Extension extension) {
        ModelRef model = new ModelRef("m", extension.paths().getLast().version() < 0 ? "" : "2");
        String path = extension.path(model, "r", (what, name) -> name);
        String method = extension.allow().equals("GET") ? "GET" : "POST";
        assertThat(route(method, path).operation())
                .isEqualTo(new Operation.Manage(
                        extension,
                        extension.paths().getLast().model() < 0 ? ModelRef.of("") : model,
                        extension.paths().getLast().resource() < 0 ? "" : "r",
                        method.equals("POST"),
                        true,
                        false));
    }

    @Test
    void modelsThatAreCalledAsAnExtension_areModels() {
        assertThat(route("GET", "/v2/models/config").operation())
                .isEqualTo(new Operation.ReadModelMetadata(ModelRef.of("config")));
        assertThat(route("GET", "/v2/models/m/versions/stats").operation())
                .isEqualTo(new Operation.ReadModelMetadata(new ModelRef("m", "stats")));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v2/models",
                "/v2/models/m/status",
                "/v2/models/m/trace",
                "/v2/models/m/trace/set",
                "/v2/models/m/versions/1/trace/setting/x",
                "/v2/trace",
                "/v2/trace/setting/x",
                "/v2/logging/x",
                "/v2/repository",
                "/v2/repository/r",
                "/v2/repository/models/m/reload",
                "/v2/repository/r/model/m/load",
                "/v2/systemsharedmemory",
                "/v2/systemsharedmemory/register",
                "/v2/systemsharedmemory/regions/r/status",
                "/v2/cudasharedmemory/region/r",
                "/v2/cudasharedmemory/register",
                "/v2/nothing"
            })
    void anyOtherPath_isNotFound(String path) {
        assertThat(failure(path).code()).isEqualTo(ErrorCode.NOT_FOUND);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v2/models/%zz/stats",
                "/v2/models/m/versions//stats",
                "/v2/models/m/versions/%2f/config",
                "/v2/models//config",
                "/v2/repository//index",
                "/v2/repository/r%2Fs/index",
                "/v2/repository/models//load",
                "/v2/systemsharedmemory/region//status",
                "/v2/cudasharedmemory/region/%/register"
            })
    void badName_isRefused(String path) {
        assertThat(failure(path).code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
    }

    private static OipException failure(String path) {
        return catchThrowableOfType(OipException.class, () -> route("GET", path));
    }

    @ParameterizedTest
    @EnumSource
    void pathOfTheServer_isARoute(ServerPath path) {
        assertThat(route("GET", path.path())).isEqualTo(RestRoutes.PathRoute.get(path.operation()));
        assertThat(route("GET", path.path() + "?x=y")).isEqualTo(RestRoutes.PathRoute.get(path.operation()));
        assertThat(failure(path.path() + "/x").code()).isEqualTo(ErrorCode.NOT_FOUND);
    }

    @ParameterizedTest
    @EnumSource
    void actionOnAModel_isARoute(ModelAction action) {
        for (ModelRef model : List.of(ModelRef.of("m"), new ModelRef("m", "2"))) {
            String version = model.version().isEmpty() ? "" : "/versions/2";
            RestRoutes.PathRoute route =
                    route(action.post() ? "POST" : "GET", "/v2/models/m" + version + "/" + action.segment());
            assertThat(route.operation().requestedModel()).isEqualTo(model);
            assertThat(route.allow()).isEqualTo(action.post() ? "POST" : "GET");
        }
    }
}
