package dev.isthmus.bench;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import dev.isthmus.gateway.access.AccessDecision;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** What it costs a request to be identified, by an API key or a token that is known, and to be judged by 1,000 rules. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class AccessBenchmark {
    private static final int RULES = 1000;
    private static final String KEY = "isthmus_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
    private static final String CONFIG = """
            local: {embedded_models: true}
            default_upstream: local
            authentication:
              api_keys: {file: keys}
              jwt: {issuer: i, audiences: [a], jwks_file: jwks.json}
            """;

    private Path folder = Path.of(".");
    private @Nullable Authenticator authenticator;
    private AccessPolicy byName = AccessPolicy.of(GatewayConfig.DEFAULT);
    private AccessPolicy byPattern = byName;
    private Principal caller = Principal.ANONYMOUS;
    private final EventLoop loop = new EmbeddedChannel().eventLoop();
    private Map<String, String> key = Map.of();
    private Map<String, String> token = Map.of();
    private final ModelRef model = new ModelRef("model-900", "1");

    /** Starts an authenticator with a thousand keys and one issuer. */
    @Setup
    public void start() throws Exception {
        folder = Files.createTempDirectory("isthmus-access");
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < RULES; i++) {
            lines.append(line("caller-" + i, i == 500 ? KEY : "key-" + i))
                    .append(" group-")
                    .append(i)
                    .append('\n');
        }
        secret("keys", lines.toString());
        ECKey signing = new ECKeyGenerator(Curve.P_256).keyID("1").generate();
        secret("jwks.json", new JWKSet(signing.toPublicJWK()).toString());
        GatewayConfig config = ConfigLoader.parse("bench.yaml", CONFIG, folder);
        authenticator = new Authenticator(
                Objects.requireNonNull(config.authentication()),
                new AccessMetrics(new SimpleMeterRegistry()),
                InstantSource.system());
        key = Map.of("x-api-key", KEY);
        token = Map.of("authorization", "Bearer " + token(signing));
        byName = policy("model-%d");
        byPattern = policy("model-%d*");
        caller = identified(token).principal();
    }

    /** A thousand rules, all of which apply to the caller. */
    private AccessPolicy policy(String models) throws Exception {
        StringBuilder yaml = new StringBuilder(CONFIG).append("access:\n  rules:\n");
        for (int i = 0; i < RULES; i++) {
            yaml.append("    - {name: r")
                    .append(i)
                    .append(", who: {names: [caller, other-")
                    .append(i)
                    .append("]}, may: [infer, metadata], models: [\"")
                    .append(models.formatted(i))
                    .append("\"]}\n");
        }
        return AccessPolicy.of(ConfigLoader.parse("bench.yaml", yaml.toString(), folder));
    }

    private void secret(String name, String text) throws Exception {
        Path file = Files.writeString(folder.resolve(name), text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private static String line(String name, String key) throws Exception {
        return ApiKeyFile.line(name, MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8)));
    }

    private static String token(ECKey signing) throws Exception {
        SignedJWT jwt = new SignedJWT(
                new JWSHeader.Builder(JWSAlgorithm.ES256).keyID("1").build(),
                new JWTClaimsSet.Builder()
                        .issuer("i")
                        .audience("a")
                        .subject("caller")
                        .claim("email", "caller@example.com")
                        .claim("groups", List.of("science", "operators", "team-a"))
                        .expirationTime(Date.from(Instant.now().plusSeconds(3600)))
                        .build());
        jwt.sign(new ECDSASigner(signing));
        return jwt.serialize();
    }

    /** Stops the authenticator. */
    @TearDown
    public void stop() {
        if (authenticator != null) {
            authenticator.close();
        }
    }

    private CallContext context(Map<String, String> headers) {
        HeaderFields fields = headers::get;
        return new CallContext(
                null,
                null,
                fields,
                loop,
                UnpooledByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                0);
    }

    private CallContext identified(Map<String, String> headers) {
        CallContext context = context(headers);
        Objects.requireNonNull(authenticator).identify(context, true);
        return context;
    }

    /** The context alone, which the others need, too. */
    @Benchmark
    public CallContext nothing() {
        return context(key);
    }

    @Benchmark
    public CallContext apiKey() {
        return identified(key);
    }

    @Benchmark
    public CallContext knownToken() {
        return identified(token);
    }

    @Benchmark
    public AccessDecision thousandRulesByName() {
        return byName.onModel(caller, "127.0.0.1:8080", Permission.INFER, model);
    }

    @Benchmark
    public AccessDecision thousandRulesByPattern() {
        return byPattern.onModel(caller, "127.0.0.1:8080", Permission.INFER, model);
    }
}
