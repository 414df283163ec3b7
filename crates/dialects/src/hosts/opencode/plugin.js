// Hookwright VERSION: runs your hooks inside opencode. Made by the program; changes here are lost.
// Whatever goes wrong before a tool call or a prompt blocks it.
import { spawn } from "node:child_process"

const program = "PROGRAM"
const seconds = "SECONDS"
const bytesMax = 4 * 1024 * 1024

// The reply of `hookwright hook opencode`, or an error.
function ask(payload) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error("hookwright could not check this: " + why))
    const child = spawn(program, ["hook", "opencode", "--deadline", String(seconds)], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, HOOKWRIGHT_IN_OPENCODE: "1" },
    })
    // The program answers before its deadline. If it does not, it hangs.
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      fail("it did not answer")
    }, (seconds + 5) * 1000)
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (data) => {
      if (stdout.length < bytesMax) stdout += data
    })
    child.stderr.on("data", (data) => {
      if (stderr.length < bytesMax) stderr += data
    })
    child.stdin.on("error", () => {})
    child.on("error", (error) => {
      clearTimeout(timer)
      fail(error.message)
    })
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      if (code !== 0) return fail(stderr.trim() || "it ended with " + (signal || "exit code " + code))
      try {
        const reply = JSON.parse(stdout)
        if (reply.ok === true || typeof reply.deny === "string") return resolve(reply)
      } catch {}
      fail("its reply is not readable")
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export const Hookwright = async ({ directory, client }) => {
  const tell = (message) => {
    if (!message) return
    Promise.resolve(client?.app?.log?.({ body: { service: "hookwright", level: "warn", message } })).catch(() => {})
  }
  // For what has happened already: nothing can be blocked any more, so an error is only told.
  const report = async (payload) => {
    try {
      const reply = await ask({ ...payload, directory })
      tell(reply.message)
      return reply
    } catch (error) {
      tell(error.message)
      return {}
    }
  }
  const guard = async (hook, input, output) => {
    const reply = await ask({ hook, input, output, directory })
    tell(reply.message)
    if (typeof reply.deny === "string") throw new Error(reply.deny)
    return reply
  }
  return {
    "chat.message": async (input, output) => {
      const { context } = await guard("chat.message", input, output)
      if (!context) return
      const { id: messageID, sessionID } = output.message
      const id = "prt_hookwright" + Date.now().toString(36)
      output.parts.push({ id, sessionID, messageID, type: "text", text: context, synthetic: true })
    },
    "tool.execute.before": async (input, output) => {
      const { args } = await guard("tool.execute.before", input, output)
      if (!args) return
      // opencode keeps its own reference to the object, so it is changed in place.
      for (const key of Object.keys(output.args)) delete output.args[key]
      Object.assign(output.args, args)
    },
    "tool.execute.after": async (input, output) => {
      const { context } = await report({ hook: "tool.execute.after", input, output })
      if (!context) return
      if (Array.isArray(output.content)) output.content.push({ type: "text", text: context })
      else output.output = (output.output ? output.output + "\n" : "") + context
    },
    event: async ({ event }) => {
      if (["session.created", "session.idle", "session.deleted"].includes(event.type)) {
        await report({ event })
      }
    },
  }
}
