/** One run of the program: it can be killed before or after any of its awaits has had its effect. */
export function createLife(killAt = 0) {
  let awaits = 0;
  let at = killAt;
  const forever = new Promise<never>(() => {});
  let isOver = () => {};
  const over = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const life = {
    dead: false,
    over,
    kill() {
      life.dead = true;
      isOver();
    },
    /** Kills it at its nth await from now, after the effect if n is odd; 0 for never. */
    killIn(n: number) {
      awaits = 0;
      at = n;
    },
    /** Wraps an await: the dead never come back from one. */
    async step<T>(effect: () => Promise<T>): Promise<T> {
      if (life.dead) return await forever;
      awaits += 1;
      if (awaits === at) life.kill();
      // Even kills come before the effect, odd ones after it: what is lost differs.
      if (life.dead && at % 2 === 0) return await forever;
      const result = await effect();
      return life.dead ? await forever : result;
    },
  };
  return life;
}
