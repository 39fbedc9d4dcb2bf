/** Parses a Dockerfile and a .dockerignore, as far as this repository uses their syntax. */

export interface Instruction {
  keyword: string
  /** The arguments, on one line. */
  text: string
}

export interface Stage {
  image: string
  instructions: Instruction[]
}

/** The stages in order; defaults of ARGs before the first stage are inserted. */
export function parseDockerfile(text: string): Stage[] {
  const stages: Stage[] = []
  const defaults = new Map<string, string>()
  const lines = text.replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, '')
  for (const line of lines.split('\n').filter((one) => one.trim() !== '')) {
    const [, keyword = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (keyword === '') throw new Error(`no instruction: ${line}`)
    if (keyword === 'ARG' && stages.length === 0) {
      const [name = '', value = ''] = rest.split('=')
      defaults.set(name, value)
    } else if (keyword === 'FROM') {
      const image = rest.replace(/\$\{(\w+)\}/g, (_, name) => defaults.get(name) ?? '')
      stages.push({ image, instructions: [] })
    } else {
      stages.at(-1)?.instructions.push({ keyword, text: rest })
    }
  }
  return stages
}

export interface Copy {
  /** Name of the stage; undefined for the repository. */
  from: string | undefined
  sources: string[]
  target: string
}

export function copiesOf(stage: Stage): Copy[] {
  return stage.instructions
    .filter(({ keyword }) => keyword === 'COPY')
    .map(({ text }) => {
      const words = text.split(/\s+/)
      const from = words[0]?.startsWith('--from=')
        ? words.shift()?.slice('--from='.length)
        : undefined
      return { from, sources: words.slice(0, -1), target: words.at(-1) ?? '' }
    })
}

/**
 * Whether the build context excludes a path of the repository. The last matching pattern decides.
 */
export function ignoredBy(dockerignore: string): (path: string) => boolean {
  const patterns = dockerignore
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const isException = line.startsWith('!')
      const glob = isException ? line.slice(1) : line
      const parts = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      return { isException, matches: new RegExp(`^${parts.join('[^/]*')}(/|$)`) }
    })
  return (path) => {
    const last = patterns.findLast(({ matches }) => matches.test(path))
    return last !== undefined && !last.isException
  }
}
