import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { WatchReading } from './readings.ts';

/** Begins to measure this process; what it gives ends that. */
export function startReading(): () => WatchReading {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const bytes = writtenBytes();
  const ownBlock = startOwnBlock();
  delay.enable();
  return () => {
    delay.disable();
    const { user, system } = process.cpuUsage(cpu);
    return {
      blockMs: delay.max / 1e6,
      ownBlockMs: ownBlock(),
      cpuMs: (user + system) / 1e3,
      writtenBytes: writtenBytes() - bytes,
      wallMs: performance.now() - startMs,
    };
  };
}

/** The most CPU time of the main thread from one turn of the loop to the next, as far as timers see them. */
function startOwnBlock(): () => number {
  let lastNs = mainThreadNs();
  let mostNs = 0;
  const look = () => {
    const nowNs = mainThreadNs();
    mostNs = Math.max(mostNs, nowNs - lastNs);
    lastNs = nowNs;
  };
  const ticker = setInterval(look, 1);
  return () => {
    look();
    clearInterval(ticker);
    return mostNs / 1e6;
  };
}

/** Source: Linux kernel documentation, "Scheduler Statistics", `/proc/<pid>/schedstat`. */
function mainThreadNs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]);
}

/** Bytes that this process has sent to the disk so far. Source: proc_pid_io(5), "write_bytes". */
function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
