/**
 * Reads the profiles written by `preload/profile.ts`: processor time by function within a thread.
 */
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Frame {
  functionName: string
  url: string
  /** From 0. */
  lineNumber: number
  columnNumber: number
}

/** The fields of V8's profile format that are read here. */
export interface CpuProfile {
  nodes: readonly {
    id: number
    callFrame: Frame
    children?: readonly number[]
  }[]
  samples: readonly number[]
  /** µs between a sample and the one before it. */
  timeDeltas: readonly number[]
}

/** Processor time of functions without their callees, µs. */
export interface SelfTimes {
  /** By location of the code: a folder of the product, a package, a part of Node. */
  places: Map<string, number>
  /** By name and location. */
  functions: Map<string, number>
}

/** A profile whose functions have the URLs of their sources, which are bundled. */
export function readProfile(file: string): CpuProfile {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile
  const maps = new Map<string, SourceMap | null>()
  for (const { callFrame } of profile.nodes) {
    const { url, lineNumber, columnNumber } = callFrame
    if (!maps.has(url)) maps.set(url, mapOf(url))
    const entry = maps.get(url)?.findEntry(lineNumber, columnNumber)
    if (entry === undefined || !('originalSource' in entry)) continue
    callFrame.url = new URL(entry.originalSource, url).href
    // The bundle numbers functions of equal names.
    callFrame.functionName = callFrame.functionName.replace(/\$\d+$/, '')
  }
  return profile
}

function mapOf(url: string): SourceMap | null {
  const file = url.startsWith('file:') ? `${fileURLToPath(url)}.map` : ''
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null
}

/** Idle time of a thread. */
const IDLE = new Set(['(idle)', '(root)'])

export function selfTimes(profiles: readonly CpuProfile[]): SelfTimes {
  const places = new Map<string, number>()
  const functions = new Map<string, number>()
  for (const profile of profiles) {
    for (const { frame, micros } of busySamples(profile)) {
      const place = placeOf(frame.url, frame.functionName)
      add(places, place, micros)
      add(functions, `${frame.functionName || '(anonymous)'}, ${place}`, micros)
    }
  }
  return { places, functions }
}

/**
 * Processor time of functions with their callees, µs, by group: that of the innermost function of
 * each stack that has one, otherwise `other`. Beyond `microsMax` between two samples another
 * process had the core.
 */
export function groupedTimes<Group extends string>(
  profile: CpuProfile,
  groupOf: (url: string, functionName: string) => Group | null,
  microsMax = Number.POSITIVE_INFINITY,
): Map<Group | 'other', number> {
  const groups = new Map<number, Group | null>()
  const frames = new Map(profile.nodes.map((node) => [node.id, node]))
  const visit = (id: number, outer: Group | null) => {
    const node = frames.get(id)
    if (node === undefined) return
    const group = groupOf(node.callFrame.url, node.callFrame.functionName) ?? outer
    groups.set(id, group)
    for (const child of node.children ?? []) visit(child, group)
  }
  const [root] = profile.nodes
  if (root !== undefined) visit(root.id, null)
  const times = new Map<Group | 'other', number>()
  for (const { id, micros } of busySamples(profile)) {
    add(times, groups.get(id) ?? 'other', Math.min(micros, microsMax))
  }
  return times
}

function* busySamples({ nodes, samples, timeDeltas }: CpuProfile) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id)
    // The first delta counts from the start; a sample lasts until the next one.
    const micros = timeDeltas[index + 1] ?? 0
    if (frame === undefined || IDLE.has(frame.functionName)) continue
    yield { id, frame, micros }
  }
}

function add<Key>(to: Map<Key, number>, key: Key, micros: number): void {
  to.set(key, (to.get(key) ?? 0) + micros)
}

/** V8's names for entries that are not functions; other entries without a file are native code. */
const SPECIAL: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection in the thread itself',
  '(program)': 'native code outside of functions (sockets, messages, event loop)',
}

export function placeOf(url: string, functionName: string): string {
  const packaged = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]
  if (packaged !== undefined) return packaged
  const own = /\/(src\/[^/]+(?:\/[^/.]+(?=\/))?)/.exec(url)?.[1]
  if (own !== undefined) return own.replace(/\.ts$/, '')
  if (url.startsWith('node:')) return 'Node'
  return SPECIAL[functionName] ?? 'native functions (writes, messages, clones)'
}

/** The largest entries with their names, in descending order. */
export function largest(times: ReadonlyMap<string, number>, count: number): [string, number][] {
  return [...times].sort(([, one], [, other]) => other - one).slice(0, count)
}
