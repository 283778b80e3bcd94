package dev.isthmus.gateway.upstream.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.upstream.local.LocalProcess.CrashReport;
import dev.isthmus.local.call.RunningModels.RunningModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file that HotSpot writes when native code crashes. */
class CrashReportTest {
    private static final RunningModel ONE = new RunningModel("isthmus-local-1", "one");
    private static final RunningModel TWO = new RunningModel("isthmus-local-2", "two");

    @TempDir
    Path folder;

    private CrashReport report(String thread) throws Exception {
        return CrashReport.of(Files.writeString(folder.resolve("crash.log"), """
                #
                # A fatal error has been detected by the Java Runtime Environment:
                #
                #  SIGFPE (0x8) at pc=0x00007f5f0c2a3b10, pid=4711, tid=4730
                #

                ---------------  T H R E A D  ---------------

                %s
                """.formatted(thread)));
    }

    @Test
    void threadOfAModel_isTheOneToBlame() throws Exception {
        CrashReport report = report("Current thread (0x00007f5f24001000):  JavaThread \"isthmus-local-2\" daemon"
                + " [_thread_in_native, id=4730, stack(0x00007f5eb0700000,0x00007f5eb0800000) (1024K)]");
        assertThat(report.blamed(List.of(ONE, TWO))).containsExactly(TWO);
        assertThat(report.cause("exit code 1")).isEqualTo("SIGFPE");
        assertThat(report.text())
                .isEqualTo(": A fatal error has been detected by the Java Runtime Environment:"
                        + " SIGFPE (0x8) at pc=0x00007f5f0c2a3b10, pid=4711, tid=4730");
    }

    @Test
    void threadOfNativeCode_leavesAllModelsThatRan() throws Exception {
        CrashReport report = report("Current thread is native thread");
        assertThat(report.blamed(List.of(ONE, TWO))).containsExactly(ONE, TWO);
    }

    @Test
    void processThatWasKilled_hasNoReport() throws Exception {
        CrashReport report = CrashReport.of(folder.resolve("none"));
        assertThat(report.blamed(List.of(ONE))).containsExactly(ONE);
        assertThat(report.cause("signal 9")).isEqualTo("signal 9");
        assertThat(report.text()).isEmpty();
    }
}
