/** The roles of the product and their composition. */
import type { RoleContext, Roles, RunningRole } from './cli/role.ts'
import type { Config } from './config/schema.ts'
import type { CheckFileType } from './file-types/check-report.ts'
import type { Wiring } from './realtime/loop-thread.ts'
import type { Logger } from './runtime/log.ts'
import { keepRequestsYoung } from './runtime/object-age.ts'

/** Each role imports only its own modules: the recorder no listeners, charging no admin API. */
async function realtime(context: RoleContext): Promise<RunningRole> {
  keepRequestsYoung()
  const { startListeners } = await import('./realtime/listeners.ts')
  const running = await startListeners({
    ...context,
    ...(await chargingSetup(context.config, context.log)),
    loopFile: new URL('./loop-thread.js', import.meta.url),
    onFailure: (error) => context.fail(error, 'an event-loop thread failed'),
  })
  const { port, diameterPort, diameterTlsPort } = running
  return {
    ports: {
      'realtime.port': port,
      ...(diameterPort === 0 ? {} : { 'diameter.port': diameterPort }),
      ...(diameterTlsPort === 0 ? {} : { 'diameter.tls.port': diameterTlsPort }),
    },
    close: () => running.close(),
  }
}

/** Runs a further event-loop thread of charging. */
export async function eventLoop(): Promise<void> {
  const { runLoop } = await import('./realtime/loop-thread.ts')
  runLoop(chargingSetup)
}

/** The setup that each event-loop thread derives from the configuration. */
async function chargingSetup(config: Config, log: Logger): Promise<Wiring> {
  const { compileRules } = await import('./rating/rules.ts')
  // The workers compile the rules too. Compiling them here stops the start if a rule is
  // invalid.
  const { keptFields, identification } = compileRules(config.rating)
  const identifies = (usaget: string) => identification.covers(usaget)
  const { fileTypeDefaultsOf } = await import('./file-types/defaults.ts')
  const { followStoredConfig } = await import('./catalog/follow-stored-config.ts')
  return {
    rules: { keptFields, identifyingFields: identification.fieldsNeeded(), identifies },
    defaults: fileTypeDefaultsOf(config),
    follow: (onStored, onClients) => followStoredConfig(config, log, onStored, onClients),
    buildWorker: async (data, emit) => {
      const { buildWorker } = await import('./workers/build.ts')
      return buildWorker(data, emit)
    },
  }
}

async function admin(context: RoleContext): Promise<RunningRole> {
  const { startAdmin } = await import('./admin/start.ts')
  const running = await startAdmin({ ...context, checkFileType })
  return { ports: { 'admin.port': running.port }, close: () => running.close(context.drainMs) }
}

async function recorder(context: RoleContext): Promise<RunningRole> {
  const { startRecorder } = await import('./recorder/start.ts')
  const running = await startRecorder(context)
  return { close: () => running.stop(context.drainMs) }
}

async function sources(context: RoleContext): Promise<RunningRole> {
  const { startIntake } = await import('./intake/sources/start.ts')
  const running = await startIntake(context)
  return { close: () => running.stop() }
}

/** Implements `tollgate filetype check` and its API. */
export const checkFileType: CheckFileType = async (...parameters) => {
  const check = await import('./realtime/check-file-type.ts')
  return check.checkFileType(...parameters)
}

export const ROLES: Roles = { realtime, admin, recorder, sources }
