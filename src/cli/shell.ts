/** The surroundings of a command: the terminal, the environment and `--config`. */
import { childEnvironment } from '../config/child-environment.ts'
import type { Environment } from '../config/environment.ts'
import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { type Streams, Terminal } from '../runtime/terminal.ts'

/** By default those of this process. */
export interface Surroundings {
  readonly streams?: Streams
  readonly environment?: Environment
}

export class Shell extends Terminal {
  readonly #environment: Environment | undefined
  /** The file of `--config`. */
  readonly #file: string | undefined

  constructor({ streams, environment }: Surroundings = {}, file?: string) {
    super(streams)
    this.#environment = environment
    this.#file = file
  }

  /** Throws `ConfigError`. `isPart`: whether `tollgate start` has started this process. */
  config(isPart = false): Config {
    return loadConfig({
      isPart,
      withDataFolder: true,
      ...(this.#file === undefined ? {} : { file: this.#file }),
      ...(this.#environment === undefined ? {} : { env: this.#environment }),
    })
  }

  /** The environment of a child process that reads the same settings, but for these. */
  environmentWith(settings: Readonly<Record<string, string | number>>): Environment {
    return childEnvironment(settings, this.#file, this.#environment)
  }
}
