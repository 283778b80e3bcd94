package dev.isthmus.gateway.audit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.audit.AuditLog.AuditActor;
import dev.isthmus.gateway.audit.AuditLog.AuditActor.ActorKind;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.assertj.core.data.Index;
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
        Map<String, Object> document = log.document(AuditLog.MOST + 1, null, null);
        assertThat(document).containsEntry("all", (long) AuditLog.MOST + 5);
        assertThat((List<?>) document.get("entries"))
                .hasSize(AuditLog.MOST)
                .first()
                .asString()
                .contains("subject=s1005", "time=1970-01-01T00:00:00Z", "by=process", "from=SIGHUP", "done=true");
        assertThat((List<?>) log.document(2, null, null).get("entries")).hasSize(2);
    }

    @Test
    void callersAndRefusals_doNotDisplaceWhatOperatorsHaveDone() {
        record("kept");
        AuditActor caller = new AuditActor(ActorKind.CALLER, "ml-team", "", "", "127.0.0.1:1");
        for (int i = 0; i < AuditLog.MOST; i++) {
            log.record(caller, AuditedChange.done("model load", "m", "", ""));
            log.record(AuditActor.process("SIGHUP"), AuditedChange.refused("reload", "", "no"));
        }
        record("last");
        assertThat((List<?>) log.document(3 * AuditLog.MOST, null, null).get("entries"))
                .hasSize(AuditLog.MOST + 2)
                .satisfies(entry -> assertThat(entry).asString().contains("subject=last"), Index.atIndex(0))
                .last()
                .asString()
                .contains("subject=kept");
    }

    @Test
    void entries_areChosenByActorAndOutcome() {
        AuditActor operator = new AuditActor(ActorKind.OPERATOR, "admin", "admin", "", "127.0.0.1:1");
        log.record(operator, AuditedChange.done("ramp", "paused", "", ""));
        log.record(operator, AuditedChange.refused("ramp", "unknown", "no"));
        AuditActor caller = new AuditActor(ActorKind.CALLER, "ml-team", "", "", "127.0.0.1:1");
        for (int i = 0; i < AuditLog.MOST; i++) {
            log.record(caller, AuditedChange.done("model load", "m", "", ""));
        }
        assertThat((List<?>) log.document(10, ActorKind.OPERATOR, null).get("entries"))
                .hasSize(1)
                .first()
                .asString()
                .contains("subject=paused");
        assertThat((List<?>) log.document(10, ActorKind.CALLER, true).get("entries"))
                .hasSize(10);
        assertThat((List<?>) log.document(10, null, false).get("entries")).isEmpty();
        log.record(operator, AuditedChange.refused("ramp", "unknown", "no"));
        assertThat((List<?>) log.document(10, ActorKind.OPERATOR, false).get("entries"))
                .hasSize(1);
        assertThat((List<?>) log.document(10, ActorKind.PROCESS, null).get("entries"))
                .isEmpty();
    }

    @Test
    void texts_areBounded() {
        record("x".repeat(100_000));
        assertThat(log.document(1, null, null).toString()).hasSizeLessThan(1_000);
    }

    @Test
    void operatorOfAProvider_isNotTheHolderOfATokenOfThatName() {
        for (String issuer : List.of("", "https://login.example")) {
            AuditActor admin = new AuditActor(ActorKind.OPERATOR, "admin", "admin", issuer, "127.0.0.1:1");
            log.record(admin, AuditedChange.done("reload", "", "", ""));
        }
        assertThat(log.document(2, null, null).toString())
                .contains("issuer=https://login.example, who=admin, role=admin", "issuer=, who=admin, role=admin");
    }
}
