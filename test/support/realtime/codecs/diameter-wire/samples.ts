/** Captured messages beside the project, which are not part of it; empty if they are absent. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../../../../../shared/samples/diameter/', import.meta.url))

export interface Sample {
  name: string
  bytes: Buffer
  isRequest: boolean
  type: number
  number: number
  services: number
}

interface IndexEntry {
  file: string
  request: boolean
  type: number
  number: number
  mscc: number
}

/** Added to names of skipped tests. */
export const whyNoSamples = existsSync(FOLDER) ? '' : ' (skipped: no folder ../shared)'

export function samples(): readonly Sample[] {
  if (whyNoSamples !== '') return []
  const index = JSON.parse(readFileSync(`${FOLDER}index.json`, 'utf8')) as readonly IndexEntry[]
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.hex'))
  if (files.length !== index.length) throw new Error('the index does not have all samples')
  return index.map(({ file, request, type, number, mscc }) => ({
    name: file,
    bytes: Buffer.from(readFileSync(FOLDER + file, 'utf8').replace(/\s/g, ''), 'hex'),
    isRequest: request,
    type,
    number,
    services: mscc,
  }))
}
