class BitsAndBytesConfig:
    """Weights of linear layers in 4 bits (fp4 or nf4, blocks of 64, their scales in 8 bits with bnb_4bit_use_double_quant) or in 8 (a
    scale for each row). llm_int8_skip_modules: parts of names of layers that stay as they are; None: lm_head. The other arguments are
    transformers', and make no difference: products compute in the dtype of what they are given, and no column is left out."""

    quant_method = "bitsandbytes"

    def __init__(self, load_in_8bit=False, load_in_4bit=False, llm_int8_threshold=6.0, llm_int8_skip_modules=None,
                 llm_int8_enable_fp32_cpu_offload=False, llm_int8_has_fp16_weight=False, bnb_4bit_compute_dtype=None,
                 bnb_4bit_quant_type="fp4", bnb_4bit_use_double_quant=False, bnb_4bit_quant_storage=None):
        if load_in_4bit and load_in_8bit:
            raise ValueError("BitsAndBytesConfig: load_in_4bit and load_in_8bit are both True; choose one")
        self.load_in_8bit, self.load_in_4bit = load_in_8bit, load_in_4bit
        self.llm_int8_threshold, self.llm_int8_skip_modules = llm_int8_threshold, llm_int8_skip_modules
        self.llm_int8_enable_fp32_cpu_offload = llm_int8_enable_fp32_cpu_offload
        self.llm_int8_has_fp16_weight = llm_int8_has_fp16_weight
        self.bnb_4bit_compute_dtype, self.bnb_4bit_quant_storage = bnb_4bit_compute_dtype, bnb_4bit_quant_storage
        self.bnb_4bit_quant_type, self.bnb_4bit_use_double_quant = bnb_4bit_quant_type, bnb_4bit_use_double_quant

    def to_dict(self):
        """As config.json has it under quantization_config."""
        return {"quant_method": self.quant_method, **self.__dict__}

    def __repr__(self):
        return f"BitsAndBytesConfig({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"
