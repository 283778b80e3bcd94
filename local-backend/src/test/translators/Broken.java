/** Fails in its constructor. */
public final class Broken {
    public Broken() {
        throw new IllegalStateException("a secret");
    }
}
