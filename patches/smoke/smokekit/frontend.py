"""The tokenizer manager's answer to a request that the scheduler ended with an abort."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from smokekit.release import Release

RID = "a"


@dataclass(frozen=True)
class Answer:
    """What the HTTP layer does with the request."""

    status_code: int | None = None  # of the HTTP error; None: no error is raised
    detail: str = ""
    streamed: bool = False  # the abort is sent as the stream's last piece


class Frontend:
    """A tokenizer manager without its constructor and one open request of a LoRA adapter."""

    def __init__(self, release: Release) -> None:
        from sglang.srt.managers.tokenizer_manager import TokenizerManager

        self.manager = TokenizerManager.__new__(TokenizerManager)
        self.released_loras: list[str] = []
        self.state = SimpleNamespace(
            obj=SimpleNamespace(rid=RID, lora_path="adapter", lora_id="adapter"), lora_released=False
        )
        self.open_requests = self.manager.rid_to_state = {RID: self.state}
        self.manager.lora_registry = self
        release.enable_lora(self.manager)

    async def release(self, lora_id: str) -> None:
        self.released_loras.append(lora_id)

    async def answer_abort(self, status: int | None, *, is_stream: bool) -> Answer:
        import fastapi

        reason = {"type": "abort", "message": "it took too long", "status_code": status, "err_type": None}
        out = {"meta_info": {"finish_reason": reason}}
        try:
            piece = await self.manager._handle_abort_finish_reason(out, self.state, is_stream)
        except fastapi.HTTPException as error:
            return Answer(status_code=error.status_code, detail=error.detail)
        return Answer(streamed=piece is out)
