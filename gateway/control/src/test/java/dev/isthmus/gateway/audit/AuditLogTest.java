package dev.isthmus.gateway.audit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AuditLogTest {
    private final AuditLog log = new AuditLog(() -> Instant.EPOCH);

    private void record(String subject) {
        log.record(AuditActor.process("SIGHUP"), AuditedChange.done("reload", subject, "", ""));
    }

    @Test
    void memory_isBounded_theNewestFirst() {
        for (int i = 1; i <= AuditLog.MOST + 5; i++) {
            record("s" + i);
        }
        Map<String, Object> document = log.document(AuditLog.MOST + 1);
        assertThat(document).containsEntry("all", (long) AuditLog.MOST + 5);
        assertThat((List<?>) document.get("entries"))
                .hasSize(AuditLog.MOST)
                .first()
                .asString()
                .contains("subject=s1005", "time=1970-01-01T00:00:00Z", "by=process", "from=SIGHUP", "done=true");
        assertThat((List<?>) log.document(2).get("entries")).hasSize(2);
    }

    @Test
    void texts_areBounded() {
        record("x".repeat(100_000));
        assertThat(log.document(1).toString()).hasSizeLessThan(1_000);
    }
}
