/** A member of a {@link Deadlines} list, which manages the fields. */
export interface Deadline {
  deadlineMs: number
  earlier: Deadline | null
  later: Deadline | null
}

/**
 * Deadlines in order of expiry, for waits of equal length. A linked list: adding and removing take
 * constant time, and one timer serves all.
 */
export class Deadlines<Member extends Deadline> {
  #first: Deadline | null = null
  #last: Deadline | null = null

  /** Appends a member. Its deadline must not be before that of the last one. */
  add(member: Member): void {
    member.earlier = this.#last
    if (this.#last === null) this.#first = member
    else this.#last.later = member
    this.#last = member
  }

  remove(member: Member): void {
    if (member.earlier === null) this.#first = member.later
    else member.earlier.later = member.later
    if (member.later === null) this.#last = member.earlier
    else member.later.earlier = member.earlier
    member.earlier = null
    member.later = null
  }

  /** Removes and returns the first member if its deadline has passed. */
  takeExpired(nowMs: number): Member | null {
    const first = this.#first as Member | null
    if (first === null || first.deadlineMs > nowMs) return null
    this.remove(first)
    return first
  }
}
