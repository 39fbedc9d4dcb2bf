import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { FILE_START } from '../../src/file-types/records/record-files.ts'
import { readChunks } from '../../src/intake/chunks.ts'
import { CALLS } from '../support/intake/call-records.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-chunks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The numbers of records of the chunks of a file. */
async function* sizesOf(text: string, size: number, chunkRecords: number) {
  const path = join(folder, 'a.jsonl')
  writeFileSync(path, text)
  const source = { path, size, fileType: CALLS, chunkRecords }
  for await (const chunk of readChunks(source, FILE_START, null)) yield chunk.length
}

async function all(sizes: AsyncIterable<number>): Promise<number[]> {
  const found: number[] = []
  for await (const size of sizes) found.push(size)
  return found
}

it('a chunk ends with its number of records, or with 4 MiB of text', async () => {
  const text = '{}\n'.repeat(5)
  expect(await all(sizesOf(text, text.length, 2))).toEqual([2, 2, 1])
  const long = `"${'x'.repeat(65_534)}"\n`.repeat(100)
  expect(await all(sizesOf(long, long.length, 1_000))).toEqual([64, 36])
})

it('a file that was cut off meanwhile does not end, and its last record is not read', async () => {
  const chunks = sizesOf('{}\n{}\n{"a":1', 100, 2)
  expect(await chunks.next()).toEqual({ done: false, value: 2 })
  await expect(chunks.next()).rejects.toThrow('a.jsonl was cut off: it had 100 bytes')
})
