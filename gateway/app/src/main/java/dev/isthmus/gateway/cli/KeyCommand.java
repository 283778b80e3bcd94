package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.Digests;
import java.io.PrintWriter;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;

/** Makes an API key. */
final class KeyCommand extends Command {
    /** Lets scanners for secrets find it. */
    private static final String PREFIX = "isthmus_";

    private static final int RANDOM_BYTES = 32;

    KeyCommand() {
        super(
                "key",
                List.of("NAME"),
                List.of(),
                "Makes an API key, and the line for the file of keys.",
                "NAME is the name of the caller. Groups may be added to the line, separated by spaces.",
                "The key is shown only here: the file has its SHA-256.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException {
        String name = arguments.operand(0);
        if (!ApiKeyFile.isName(name)) {
            throw new UsageException(
                    "a name of at most 255 printable ASCII characters without # is expected, got '" + name + "'");
        }
        byte[] bytes = new byte[RANDOM_BYTES];
        new SecureRandom().nextBytes(bytes);
        String key = PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        PrintWriter out = console.out();
        out.println("key:  " + key);
        out.println("line: " + ApiKeyFile.line(name, Digests.of(Digests.SHA_256, key)));
        return 0;
    }
}
