/** The roles of the product and what each is made of. */
import type { RoleContext, RunningRole } from './cli/role.ts'
import { type ExitCode, runCommandLine, type Tools } from './cli/run.ts'

/**
 * Runs a command line (without `node` and the program) and gives its exit code; undefined if it
 * runs on until a signal ends it. Never rejects.
 */
export function main(argv: readonly string[]): Promise<ExitCode> {
  return runCommandLine(argv, { realtime, admin, recorder }, { checkFileType })
}

/** A role loads only what it needs: the recorder no sockets, charging no control plane. */
async function realtime(context: RoleContext): Promise<RunningRole> {
  const { compileRules } = await import('./rating/rules.ts')
  // Also the threads compile them: here, so that rules which cannot be used stop the start.
  const { keptFields, identification } = compileRules(context.config.rating)
  const identifies = (usaget: string) => identification.covers(usaget)
  const rules = { keptFields, identifyingFields: identification.fieldsNeeded(), identifies }
  const { fileTypeDefaultsOf } = await import('./catalog/file-types/defaults.ts')
  const defaults = fileTypeDefaultsOf(context.config)
  const { startRealtime } = await import('./realtime/start.ts')
  return startRealtime({ ...context, defaults, rules })
}

async function admin(context: RoleContext): Promise<RunningRole> {
  const { startAdmin } = await import('./admin/start.ts')
  const running = await startAdmin(context)
  return { port: running.port, close: () => running.close(context.drainMs) }
}

async function recorder(context: RoleContext): Promise<RunningRole> {
  const { startRecorder } = await import('./recorder/start.ts')
  const running = await startRecorder(context)
  return { close: () => running.stop(context.drainMs) }
}

const checkFileType: Tools['checkFileType'] = async () => ({ ok: false, steps: [] })
