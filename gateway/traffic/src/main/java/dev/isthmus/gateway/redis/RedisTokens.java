package dev.isthmus.gateway.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Buckets in Redis: for each, the time at which it will be full, by the server's clock. */
final class RedisTokens implements TokenStore {
    private static final double MICROS_PER_SECOND = TimeUnit.SECONDS.toMicros(1);

    private final RedisConnection connection;
    private final String prefix;

    RedisTokens(RedisConnection connection, String prefix) {
        this.connection = connection;
        this.prefix = prefix;
    }

    @Override
    public boolean answers() {
        return connection.answers();
    }

    @Override
    public CompletableFuture<Grant> take(TokenBucketKey bucket, long first, long more) {
        return connection.run(
                RedisScript.TAKE,
                key(bucket),
                RedisTokens::grant,
                late -> giveBack(bucket, late.tokens()),
                Long.toString(first),
                Long.toString(more),
                microsPerToken(bucket),
                Double.toString(bucket.burstNanos() / 1e3));
    }

    private static Grant grant(List<Object> answer) {
        return new Grant(
                (Long) answer.get(0),
                TimeUnit.MICROSECONDS.toNanos((Long) answer.get(1)),
                TimeUnit.MICROSECONDS.toNanos((Long) answer.get(2)));
    }

    @Override
    public void giveBack(TokenBucketKey bucket, long tokens) {
        if (tokens > 0 && connection.answers()) {
            connection.run(
                    RedisScript.GIVE_BACK,
                    key(bucket),
                    Function.identity(),
                    late -> {},
                    Long.toString(tokens),
                    microsPerToken(bucket));
        }
    }

    private String key(TokenBucketKey bucket) {
        return prefix + "rate:" + bucket.limit();
    }

    private static String microsPerToken(TokenBucketKey bucket) {
        return Double.toString(MICROS_PER_SECOND / bucket.perSecond());
    }

    @Override
    public void later(Runnable task, long nanos) {
        connection.later(task, nanos);
    }
}
