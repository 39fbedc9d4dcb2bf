/** Sees to it that somebody can log in, also where MongoDB comes later than this process. */
import { ensureFirstAdmin, type FirstAdminDeps } from './first-admin.ts'
import { PASSWORDS } from './passwords.ts'

export interface FirstAdminWatch {
  /** Resolves when it was tried once, however that ended. */
  readonly firstAttempt: Promise<void>
  /** Whether it is known that there is a user. */
  hasUser(): boolean
  stop(): Promise<void>
}

const RETRY_MS = 500

/** Tries until it is known that there is a user. */
export function watchFirstAdmin(deps: Omit<FirstAdminDeps, 'passwords'>): FirstAdminWatch {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let hasWarned = false
  let isThere = false
  const attempt = async (): Promise<void> => {
    try {
      await ensureFirstAdmin({ ...deps, passwords: PASSWORDS })
      isThere = true
    } catch (error) {
      if (!hasWarned) deps.log.warn({ err: error }, 'the first user cannot be looked for')
      hasWarned = true
      if (!isStopped) timer = setTimeout(again, RETRY_MS)
    }
  }
  const tried = attempt()
  let running = tried
  const again = () => {
    running = attempt()
  }
  return {
    firstAttempt: tried,
    hasUser: () => isThere,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
