package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ProcessSignals;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.upstream.local.LocalProcess;
import dev.isthmus.local.call.ProcessFolder;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/**
 * The process of the local models of another gateway, with {@code local: {process: own}}: a gateway on a Unix socket.
 * Standard input is open as long as the other gateway lives and needs it. Signals are left to that one, which gets those
 * of a terminal too, and finishes its calls first.
 */
final class LocalProcessCommand extends Command {
    /** Longer than models may take to end at a shutdown. */
    private static final Duration END = Duration.ofSeconds(25);

    LocalProcessCommand() {
        super(
                LocalProcess.COMMAND,
                List.of(),
                List.of(),
                "Runs the local models of another gateway, which starts it by itself.");
    }

    @Override
    boolean hidden() {
        return true;
    }

    @Override
    int run(Arguments arguments, Console console) throws Exception {
        ProcessFolder folder = ProcessFolder.ofThisProcess();
        if (folder == null) {
            throw new UsageException("it is started by a gateway with 'local: {process: own}'");
        }
        ProcessSignals.onTermination(signal -> {});
        ProcessSignals.onHangup(() -> {});
        Thread end = Thread.ofPlatform().daemon().name("isthmus-gateway-ended").start(() -> await(folder));
        ConfigFile source = new ConfigFile(
                List.of(folder.configuration()), config -> config.withListener(Listener.unix(folder.socket())));
        try (Gateway gateway = Gateway.start(source)) {
            gateway.awaitLocalModels();
            console.out().println(LocalProcess.LOADED);
            end.join();
        }
        // Nothing writes there any more.
        folder.delete();
        return 0;
    }

    /** Waits for the end of standard input, and sees to it that the process ends soon after. */
    private static void await(ProcessFolder folder) {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException ended) {
            // As good as the end.
        }
        CompletableFuture.delayedExecutor(END.toSeconds(), TimeUnit.SECONDS).execute(new FutureTask<>(() -> {
            try {
                folder.delete();
                return folder;
            } finally {
                Runtime.getRuntime().halt(0);
            }
        }));
    }
}
