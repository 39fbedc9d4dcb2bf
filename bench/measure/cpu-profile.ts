/** Reads what `preload/profile.ts` leaves: who had the processor in a thread. */

/** Of V8's format of profiles, what is read here. */
export interface CpuProfile {
  nodes: readonly {
    id: number
    callFrame: { functionName: string; url: string }
  }[]
  samples: readonly number[]
  /** µs between a sample and the one before it. */
  timeDeltas: readonly number[]
}

/** Processor time of functions themselves, without what they called, µs. */
export interface SelfTimes {
  /** By where their code is: a folder of the product, a package, a part of Node. */
  places: Map<string, number>
  /** By name and place. */
  functions: Map<string, number>
}

/** What a thread does not do itself. */
const IDLE = new Set(['(idle)', '(root)'])

export function selfTimes(profiles: readonly CpuProfile[]): SelfTimes {
  const places = new Map<string, number>()
  const functions = new Map<string, number>()
  const add = (to: Map<string, number>, key: string, micros: number) =>
    to.set(key, (to.get(key) ?? 0) + micros)
  for (const { nodes, samples, timeDeltas } of profiles) {
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
    for (const [index, id] of samples.entries()) {
      const frame = frames.get(id)
      // The first delta is that from the begin; a sample lasts until the next.
      const micros = timeDeltas[index + 1] ?? 0
      if (frame === undefined || IDLE.has(frame.functionName)) continue
      const place = placeOf(frame.url, frame.functionName)
      add(places, place, micros)
      add(functions, `${frame.functionName || '(anonymous)'}, ${place}`, micros)
    }
  }
  return { places, functions }
}

/** V8's own names of what is no function; the rest without a file is native code. */
const SPECIAL: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection in the thread itself',
  '(program)': 'native code outside of functions (sockets, messages, event loop)',
}

export function placeOf(url: string, functionName: string): string {
  const packaged = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]
  if (packaged !== undefined) return packaged
  const own = /\/dist\/(src\/[^/]+(?:\/[^/.]+(?=\/))?)/.exec(url)?.[1]
  if (own !== undefined) return own.replace(/\.js$/, '')
  if (url.startsWith('node:')) return 'Node'
  return SPECIAL[functionName] ?? 'native functions (writes, messages, clones)'
}

/** The largest, with their names, largest first. */
export function largest(times: ReadonlyMap<string, number>, count: number): [string, number][] {
  return [...times].sort(([, one], [, other]) => other - one).slice(0, count)
}
