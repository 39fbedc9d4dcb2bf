/**
 * Ensures that there is a user who can log in, also if MongoDB becomes available later than this
 * process.
 */
import { ensureFirstAdmin, type FirstAdminDeps } from './first-admin.ts'
import { PASSWORDS } from './passwords.ts'

export interface FirstAdminWatch {
  /** Resolves after the first attempt, successful or not. */
  readonly firstAttempt: Promise<void>
  /** Whether the existence of a user is confirmed. */
  hasUser(): boolean
  stop(): Promise<void>
}

const RETRY_MS = 500

/** Retries until the existence of a user is confirmed. */
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
      if (!hasWarned) deps.log.warn({ err: error }, 'cannot check whether a user exists; retrying')
      hasWarned = true
      if (!isStopped) timer = setTimeout(retry, RETRY_MS)
    }
  }
  const tried = attempt()
  let running = tried
  const retry = () => {
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
