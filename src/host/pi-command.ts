// How Pi is started as a child process: the host that runs us, with the same Node; elsewhere `pi`, as the shell finds it.
import { runningHost } from "./package.ts";

export function piCommand(): readonly string[] {
  const running = runningHost();
  return running ? [process.execPath, running.file] : ["pi"];
}
