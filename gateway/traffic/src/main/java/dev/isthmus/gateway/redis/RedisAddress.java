package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.SharedConfig;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Turns settings into what the client connects to. */
final class RedisAddress {
    private RedisAddress() {}

    static RedisURI of(SharedConfig config, Duration timeout) {
        RedisURI.Builder address = RedisURI.Builder.redis(config.host(), config.port())
                .withDatabase(config.database())
                .withSsl(config.secure())
                .withVerifyPeer(true)
                .withClientName("isthmus")
                .withTimeout(timeout);
        Path password = config.passwordFile();
        if (password != null) {
            String user = config.user();
            address.withAuthentication(RedisCredentialsProvider.from(
                    () -> RedisCredentials.just(user, read(password).toCharArray())));
        }
        return address.build();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
