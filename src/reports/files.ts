/**
 * The folder with the files of reports. Their names have the time at which they expire, so that
 * drafts of processes that died are removed then, too.
 */
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { Config } from '../config/schema.ts'
import type { ReportFormat } from './texts.ts'

export interface ReportFileName {
  /** Id of the job, 24 hexadecimal digits. */
  readonly id: string
  readonly format: ReportFormat
  /** Epoch ms. */
  readonly expiresMs: number
}

export interface ReportFiles {
  /** Completely or not at all; replaces a file of the name. */
  write(name: ReportFileName, texts: AsyncIterable<string>): Promise<void>
  /** Null if there is no such file. */
  read(name: ReportFileName): Promise<{ stream: Readable; bytes: number } | null>
  /** Removes up to `max` files that have expired; returns their number. */
  removeExpired(nowMs: number, max: number): Promise<number>
}

const NAME = /^[\da-f]{24}-(\d{1,16})\.(?:csv|ndjson)(?:\.[\da-f]{16}\.part)?$/
const DRAFT_BYTES = 8

export function createReportFiles({
  reports,
  data,
}: Pick<Config, 'reports' | 'data'>): ReportFiles {
  const folder = reports.folder === '' ? join(resolve(data.dir), 'reports') : reports.folder
  const pathOf = ({ id, format, expiresMs }: ReportFileName) =>
    join(folder, `${id}-${expiresMs}.${format}`)
  return {
    async write(name, texts) {
      const path = pathOf(name)
      // A process that has lost the job may still be writing, so each attempt has its own draft.
      const draft = `${path}.${randomBytes(DRAFT_BYTES).toString('hex')}.part`
      await mkdir(folder, { recursive: true, mode: 0o700 })
      try {
        await writeDraft(draft, texts)
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
    async read(name) {
      const path = pathOf(name)
      try {
        const { size } = await stat(path)
        return { stream: createReadStream(path), bytes: size }
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },
    async removeExpired(nowMs, max) {
      const names = await readdir(folder).catch((error: unknown) => {
        if (isMissing(error)) return []
        throw error
      })
      const expired = names.filter((name) => {
        const [, expiresMs] = NAME.exec(name) ?? []
        return expiresMs !== undefined && Number(expiresMs) <= nowMs
      })
      for (const name of expired.slice(0, max)) await rm(join(folder, name), { force: true })
      return Math.min(expired.length, max)
    },
  }
}

async function writeDraft(path: string, texts: AsyncIterable<string>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    // Continues where the last one has ended.
    for await (const text of texts) await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
