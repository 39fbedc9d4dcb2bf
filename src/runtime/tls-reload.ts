/** Reloads the certificate of a listener when its files change. */
import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Server } from 'node:tls'
import { weakCiphers } from '../config/tls.ts'
import type { Logger } from './log.ts'
import {
  fingerprintOf,
  namedFiles,
  readTlsFiles,
  secureContext,
  TlsFileError,
  type TlsFiles,
  type TlsSettings,
} from './tls-files.ts'
import type { TlsMetrics } from './tls-metrics.ts'

export interface TlsListener {
  /** Settings section, as in `admin.tls`. */
  readonly section: string
  readonly settings: TlsSettings
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly metrics?: TlsMetrics | undefined
  /** Whether another thread of this process logs and counts reloads of the same files. */
  readonly isSilent?: boolean
}

/** Uses files for new connections. Throws `TlsFileError` if that is not possible. */
export type UseTlsFiles = (files: TlsFiles) => void

/** Warning about a private key that all users may read. */
export const KEY_EXPOSED =
  'all users of this machine may read the private key: restrict its permissions'
const WEAK = 'cipher suites without forward secrecy or authenticated encryption are allowed'
const RELOAD_FAILED = 'changed TLS files cannot be used: the previous certificate stays in use'

/** Reads the files for the start of a listener. Throws `TlsFileError`. */
export function startTls(listener: TlsListener): TlsFiles {
  const { section, settings, log, isSilent = false } = listener
  const files = readTlsFiles(section, settings)
  const weak = weakCiphers(settings.ciphers)
  if (weak.length > 0 && !isSilent) log.warn({ setting: `${section}.ciphers`, weak }, WEAK)
  reportUsed(listener, files)
  return files
}

function reportUsed({ section, settings, log, metrics, isSilent }: TlsListener, files: TlsFiles) {
  if (isSilent === true) return
  if (files.isKeyExposed) log.warn({ file: settings.keyFile }, KEY_EXPOSED)
  metrics?.used(section, files.notAfterMs)
}

/** Reloads the files of a Node server while it listens. */
export function followTls(server: Server, listener: TlsListener, files: TlsFiles): void {
  server.once('listening', () => {
    const follower = new TlsFollower(listener, files, (changed) => {
      server.setSecureContext(secureContext(changed, listener.settings))
    })
    server.once('close', () => follower.close())
  })
}

/** Files that are replaced within this time are loaded together. */
const SETTLE_MS = 200
/** For systems without change events: network file systems, targets of symbolic links. */
const POLL_MS = 10_000

/** Watches the files, beginning with those in use, until it is closed. */
export class TlsFollower {
  readonly #listener: TlsListener
  readonly #use: UseTlsFiles
  readonly #watchers: FSWatcher[]
  readonly #polling: NodeJS.Timeout
  #settling: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  #isClosed = false
  /** Fingerprint of the files in use. */
  #used: string
  /** Fingerprint of unusable files, and whether it was reported: files may be half written. */
  #refused = ''
  #isReported = false

  constructor(listener: TlsListener, used: TlsFiles, use: UseTlsFiles) {
    this.#listener = listener
    this.#use = use
    this.#used = used.fingerprint
    const folders = new Set(namedFiles(listener.settings).map((file) => dirname(file)))
    // Watches folders, because a replaced file is another inode.
    this.#watchers = [...folders].flatMap((folder) => this.#watch(folder))
    this.#polling = setInterval(() => this.#look(), POLL_MS)
    this.#polling.unref()
    // Detects changes from before the watch began.
    this.#lookSoon()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#polling)
    clearTimeout(this.#settling)
    for (const watcher of this.#watchers) watcher.close()
  }

  /** Empty if the system has no more watches; polling remains. */
  #watch(folder: string): FSWatcher[] {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#lookSoon())
      watcher.on('error', () => watcher.close())
      return [watcher]
    } catch {
      return []
    }
  }

  #lookSoon(): void {
    if (this.#settling !== undefined || this.#isClosed) return
    this.#settling = setTimeout(() => {
      this.#settling = undefined
      this.#look()
    }, SETTLE_MS)
    this.#settling.unref()
  }

  #look(): void {
    this.#looking = this.#looking.then(() => this.#compare())
  }

  async #compare(): Promise<void> {
    const seen = await this.#seen()
    if (this.#isClosed) return
    if (seen === this.#used) {
      this.#refused = ''
      return
    }
    const { section, settings, log, metrics, isSilent } = this.#listener
    try {
      const files = readTlsFiles(section, settings)
      this.#use(files)
      this.#used = files.fingerprint
      this.#refused = ''
      if (isSilent !== true) {
        reportUsed(this.#listener, files)
        metrics?.reloaded(section, 'ok')
        const validTo = new Date(files.notAfterMs).toISOString()
        log.info({ listener: section, validTo }, 'changed TLS files are in use')
      }
    } catch (error) {
      this.#refuse(seen, error)
    }
  }

  /** Digest of the current file contents, or why they cannot be read. */
  async #seen(): Promise<string> {
    try {
      const files = namedFiles(this.#listener.settings)
      return fingerprintOf(await Promise.all(files.map((file) => readFile(file))))
    } catch (error) {
      return String(error)
    }
  }

  /** Reports unusable files once, when two consecutive checks find the same contents. */
  #refuse(seen: string, error: unknown): void {
    if (seen !== this.#refused) {
      this.#refused = seen
      this.#isReported = false
      this.#lookSoon()
      return
    }
    if (this.#isReported) return
    this.#isReported = true
    const { section, log, metrics, isSilent } = this.#listener
    if (isSilent === true) return
    metrics?.reloaded(section, 'failed')
    const why = error instanceof TlsFileError ? { problem: error.message } : { err: error }
    log.warn({ listener: section, ...why }, RELOAD_FAILED)
  }
}
