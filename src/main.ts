/** The command line of the product. */
import type { ExitCode } from './cli/command-spec.ts'
import { runCommandLine } from './cli/run.ts'
import type { Surroundings } from './cli/shell.ts'
import type { DiameterExchange, DiameterMessage, DiameterTarget, Tools } from './cli/tools.ts'
import type { Sendable } from './realtime/diameter/send.ts'
import { checkFileType, ROLES } from './roles.ts'

/**
 * Runs a command line (without `node` and the program). Resolves to its exit code; undefined if it
 * runs until a signal ends it. Never rejects. Several may run in one process, each with its own
 * surroundings.
 */
export function main(argv: readonly string[], surroundings: Surroundings = {}): Promise<ExitCode> {
  return runCommandLine(argv, ROLES, TOOLS, surroundings)
}

/** Implements `tollgate diameter send`. */
async function sendDiameter(
  messages: readonly DiameterMessage[],
  { originHost, tls, ...target }: DiameterTarget,
): Promise<DiameterExchange[]> {
  const { defaultOriginHost, sendMessages } = await import('./realtime/diameter/send.ts')
  return sendMessages(messages as readonly Sendable[], {
    ...target,
    originHost: originHost ?? defaultOriginHost(target.originRealm),
    ...(tls === null ? {} : { tls }),
  })
}

/** Implements `tollgate event test`. */
const tryRule: Tools['tryRule'] = async (rule, request, view, context) => {
  const trial = await import('./workers/rule-trial.ts')
  return trial.tryRule(rule, request, view, context)
}

const TOOLS: Tools = { checkFileType, sendDiameter, tryRule }
