import { execFile } from 'node:child_process'

/** Runs the script of a health check on another port; its exit code. */
export function runScript(script: string, port: number, otherPort: number): Promise<number> {
  const text = script.replace(`:${port}/`, `:${otherPort}/`)
  return new Promise((resolve) => {
    execFile(process.execPath, ['-e', text], (error) => {
      resolve(error === null ? 0 : Number(error.code))
    })
  })
}
